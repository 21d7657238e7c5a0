"""A receiver on the loopback that sees every byte and can misbehave in every way: HTTP/1.1 by hand."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass
class Seen:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Script = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    script: Script
    tls: ssl.SSLContext | None = None
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    async def __aenter__(self) -> "Receiver":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.seen.append(Seen(method, path, headers, body))
            await self.script(self.seen[-1], writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                writer.close()
                await writer.wait_closed()


def head(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Whatever", *headers, "", ""]).encode("latin-1")


def answer(status: int = 200, body: bytes = b"", *headers: str) -> Script:
    """Answers everything alike."""

    async def script(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, f"Content-Length: {len(body)}", *headers) + body)
        await writer.drain()

    return script


def answers(*scripts: Script) -> Script:
    """Answers one request after the other."""
    rest = iter(scripts)

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await next(rest)(seen, writer)

    return script
