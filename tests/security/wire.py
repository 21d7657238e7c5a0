"""A real server on loopback, and raw sockets that misbehave."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI

from api.security.connections import GuardedProtocol

#: Long enough for a loaded machine; nothing waits for it when all is well.
PATIENCE = 60.0


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # Ctrl-C is for pytest.


@contextlib.asynccontextmanager
async def serving(app: Any, **limits: Any) -> AsyncIterator[int]:
    """`app` on guarded connections with these limits; the port."""
    protocol = type("Hurried", (GuardedProtocol,), limits)
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        http=protocol,
        ws="none",
        lifespan="on" if isinstance(app, FastAPI) else "off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=600,  # so that no end is uvicorn's
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    socket = config.bind_socket()
    running = asyncio.create_task(server.serve([socket]))
    while not server.started:
        await asyncio.sleep(0.01)
        assert not running.done()
    try:
        yield socket.getsockname()[1]
    finally:
        server.should_exit = True
        await running


class Wire:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, port: int, **options: Any) -> AsyncIterator["Wire"]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, **options)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> bytes:
        """One answer: its head and its body."""
        async with asyncio.timeout(PATIENCE):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            return head + await self.reader.readexactly(int(length.split(b":")[1]))

    async def until_closed(self) -> bytes:
        """What comes until the server ends the connection."""
        seen = b""
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(PATIENCE):
                while data := await self.reader.read(65536):
                    seen += data
        return seen

    async def drip(self, data: bytes, forever: bytes) -> bytes:
        """Sends `data`, then `forever` a byte at a time until the server has had enough; what it said."""
        await self.send(data)

        async def dripping() -> None:
            with contextlib.suppress(ConnectionError):
                while True:
                    await self.send(forever)
                    await asyncio.sleep(0.01)

        task = asyncio.create_task(dripping())
        try:
            return await self.until_closed()
        finally:
            task.cancel()


def request(method: str, path: str, *headers: str) -> bytes:
    """A request's head."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode()
