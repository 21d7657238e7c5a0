"""What is refused before anybody asks who calls: requests of an absurd size, and names that are not ours.

An API without keys trusts its address: whoever reaches loopback is this machine's user. A browser breaks that: a page
of a stranger, under a name that resolves to 127.0.0.1, is of the same origin as the API and reads its answers (DNS
rebinding). So without keys the name that was called must be one of ours. A key ends this: no page of a stranger has
one. What a page of another origin may send at all, `api/cross_site.py` says.
"""

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from api.problems import Problem
from api.security.lock import Lock, Open, is_loopback

#: Bytes of path and query; bytes and number of all headers.
TARGET_BYTES = 8 * 1024
HEADER_BYTES = 16 * 1024
HEADERS = 100

#: On every answer: nothing guesses a type, frames our pages, or keeps what only one caller may see.
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Door:
    """ASGI middleware: refuses, or lets on. `names` are host names of ours beside `localhost`."""

    def __init__(self, app: ASGIApp, lock: Lock, names: Collection[str] = ()) -> None:
        self._app = app
        self._lock = lock
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] != "http":
            await self._app(connection, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = too_big(connection)
        if refused is None and isinstance(self._lock, Open):
            refused = from_outside(connection, self._lock) or wrong_name(connection, self._names)
        await (refused.response() if refused else self._app)(connection, receive, answer)


def too_big(connection: Connection) -> Problem | None:
    """`414` or `431` for what no caller of ours sends."""
    target = len(connection.get("raw_path") or b"") + len(connection["query_string"])
    if target > TARGET_BYTES:
        return Problem(
            414, "uri-too-long", "URI too long", f"path and query have {target:,} bytes, not {TARGET_BYTES:,}"
        )
    headers = connection["headers"]
    size = sum(len(name) + len(value) + 4 for name, value in headers)
    if len(headers) > HEADERS or size > HEADER_BYTES:
        detail = (
            f"there are {len(headers)} headers of {size:,} bytes; bounds are {HEADERS} and {HEADER_BYTES:,}"
        )
        return Problem(431, "headers-too-large", "Request header fields too large", detail)
    return None


def from_outside(connection: Connection, lock: Open) -> Problem | None:
    """`403` for a call that did not come to loopback, whatever started this server and told it to listen there."""
    address = (connection.get("server") or ("", None))[0]
    if lock.is_for_strangers or not _is_address(address) or is_loopback(address):
        return None
    detail = (
        "without keys this API answers on loopback alone: set DUETIME_API_KEYS_FILE, or DUETIME_API_OPEN=true "
        "if something else keeps strangers away"
    )
    return Problem(403, "loopback-only", "Loopback only", detail)


def wrong_name(connection: Connection, names: Collection[str]) -> Problem | None:
    """`421` for a call by a name that is not ours."""
    host = Headers(raw=list(connection["headers"])).get("host")
    if host is None or _is_ours(_name(host), names):  # HTTP/1.0 needs none, and no browser speaks it
        return None
    detail = f"{host[:100]!r} is no name of this API: call it by its address, as localhost, or set DUETIME_API_NAMES"
    return Problem(421, "wrong-host", "Misdirected request", detail)


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_ours(name: str, names: Collection[str]) -> bool:
    # An address cannot be rebound: a page that is loaded from it comes from the machine that has it.
    return name == "localhost" or name in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
