"""A TCP proxy that misbehaves on command: what lies between a worker and its server."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PIECE = 64 * 1024
#: close(2) then sends RST, and what was not sent is lost (SO_LINGER, socket(7)).
_HARD = struct.pack("ii", 1, 0)


class _Way:
    """One direction of all connections."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.is_open = asyncio.Event()
        self.is_open.set()


class Proxy:
    """Forwards to one address. Both ways are open until somebody says otherwise.

    A closed way holds what is sent, as a network that loses packets does: it arrives after all once the way is open
    again, unless the connection is reset before.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self.upstream, self.downstream = _Way(), _Way()
        self._connections: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refuses = False
        self.address = ""

    def delay(self, seconds: float) -> None:
        """Latency each way."""
        self.upstream.delay = self.downstream.delay = seconds

    def cut(self) -> None:
        """A black hole: nothing passes, nobody is told."""
        self.upstream.is_open.clear()
        self.downstream.is_open.clear()

    def lose_answers(self) -> None:
        """Half open: what is sent to the server arrives, what it answers does not."""
        self.downstream.is_open.clear()

    def reset(self) -> None:
        """Ends all connections; what they held is lost."""
        for pair in list(self._connections):
            for writer in pair:
                with contextlib.suppress(OSError):
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _HARD)
                writer.transport.abort()

    def refuse(self) -> None:
        """Nobody listens: connections end, and new ones end at once."""
        self._refuses = True
        self.reset()

    def heal(self) -> None:
        """Both ways open, without delay."""
        self._refuses = False
        self.delay(0)
        self.upstream.is_open.set()
        self.downstream.is_open.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._refuses:
                raise ConnectionRefusedError
            # Nobody is there behind a closed way.
            await self.upstream.is_open.wait()
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        finally:
            self._tasks.discard(task)
        pair = (writer, back)
        self._connections.add(pair)
        self._tasks.add(task)
        try:
            await asyncio.gather(_pump(reader, back, self.upstream), _pump(there, writer, self.downstream))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(pair)
            self._tasks.discard(task)
            for end in pair:
                end.transport.abort()

    async def close(self) -> None:
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way) -> None:
    """Forwards until either end is gone. Reads on while the way is closed, like a network with deep buffers."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            await way.is_open.wait()
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    delivering = asyncio.ensure_future(deliver())
    try:
        while True:
            data = await reader.read(_PIECE)
            under_way.put_nowait((loop.time() + way.delay, data))
            if not data:
                break
        await delivering
    finally:
        delivering.cancel()


@asynccontextmanager
async def proxy_to(target: str) -> AsyncIterator[Proxy]:
    """A proxy on a free port of the loopback, in front of `target` (`host:port`)."""
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
