"""No web page of another site may change anything through the browser of somebody who can reach the API.

An API on the loopback interface, or one that a browser holds credentials for, must not obey whatever page happens to
be open. Browsers say where a request comes from: `Sec-Fetch-Site` (https://www.w3.org/TR/fetch-metadata/), or `Origin`
(RFC 6454) in old ones. Programs send neither, and are let through.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import Problem

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class SameSiteOnly:
    """ASGI middleware: refuses calls that change something and come from another site's page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in _SAFE and is_cross_site(Headers(scope=scope)):
            detail = (
                "this call comes from a web page of another site; call from a program, or from a page here"
            )
            refusal = Problem(403, "cross-site", "Not from another site", detail)
            await refusal.response()(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def is_cross_site(headers: Headers) -> bool:
    """Whether a browser says that the call comes from elsewhere."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
