"""A server on a real socket that does what its script says: answers, breaks off, keeps silent."""

import asyncio
import contextlib
import json
import struct
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Seen:
    """A request that arrived whole."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """An answer. A `retry_after` goes along as a header."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def wire(self) -> bytes:
        content = self.body if isinstance(self.body, str) else json.dumps(self.body)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content.encode()))}
        lines = [f"HTTP/1.1 {self.status} x", *(f"{n}: {v}" for n, v in {**headers, **self.headers}.items())]
        return "\r\n".join([*lines, "", content]).encode()


class Reset:
    """The connection is reset before anything is answered."""


class HalfAnswer:
    """The answer breaks off in its middle."""


class Silence:
    """Nothing is ever answered."""


@dataclass(frozen=True)
class Events:
    """A stream of Server-Sent Events that ends, or is reset, after these."""

    text: str
    resets: bool = False


Act = Reply | Reset | HalfAnswer | Silence | Events


class Flaky:
    """Plays `script`, one act a request, the last one again and again."""

    def __init__(self, script: Iterable[Act]) -> None:
        self.script = list(script)
        self.seen: list[Seen] = []
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Flaky"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        tasks_before = asyncio.all_tasks()
        try:
            yield self
        finally:
            server.close()
            for task in asyncio.all_tasks() - tasks_before:
                if getattr(task.get_coro(), "__qualname__", "") == "Flaky._serve":
                    task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read(reader):
                self.seen.append(request)
                act = self.script[min(len(self.seen), len(self.script)) - 1]
                if not await self._play(act, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _play(self, act: Act, writer: asyncio.StreamWriter) -> bool:
        match act:
            case Reply():
                writer.write(act.wire())
                await writer.drain()
                return True
            case HalfAnswer():
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
                )
                await writer.drain()
            case Silence():
                await asyncio.Event().wait()
            case Events():
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                )
                writer.write(act.text.encode())
                await writer.drain()
                if act.resets:
                    _reset(writer)
            case Reset():
                _reset(writer)
        return False


def _reset(writer: asyncio.StreamWriter) -> None:
    """RST instead of FIN: SO_LINGER with a time of nothing (socket(7))."""
    import socket

    found = writer.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode().strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Seen(method, path, headers, json.loads(body) if body else None)
