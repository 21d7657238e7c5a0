"""`HEAD`: the answer that `GET` would give, without its body (RFC 9110, section 9.3.2)."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """ASGI middleware: every route that answers `GET` answers `HEAD`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = False

        async def without_body(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def until_answered() -> Message:
            # A stream goes on until its reader leaves, which this one has done once it has the headers.
            return {"type": "http.disconnect"} if answered else await receive()

        inner = {**scope, "method": "GET"}
        try:
            await self._app(inner, until_answered, without_body)
        finally:
            if "route" in inner:
                scope["route"] = inner["route"]  # for whoever counts
