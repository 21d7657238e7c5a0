"""Counts every request, as the outermost layer of the app."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.observe.counters import request_answered

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_UNKNOWN = "none"


class CountRequests:
    """Wraps `app`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.monotonic(), 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            # Known only afterwards: the router, which lies further in, puts it there.
            route = getattr(scope.get("route"), "path", _UNKNOWN)
            method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
            request_answered(method, route, status, time.monotonic() - begun)
