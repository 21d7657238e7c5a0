"""Workers as processes of their own, which can be killed."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass

from duetime.engine import EmbeddedEngine
from tests.engine.programs import PATIENCE, ROOT, environment, start_python

HANDLERS = "tests.operations.bench"


@dataclass
class WorkerProcess:
    """`worker.py`, with what it has logged so far."""

    process: asyncio.subprocess.Process
    log: str = ""

    @property
    def identity(self) -> str:
        return f"{self.process.pid}@"

    async def read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.log += line.decode()

    async def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends it by a signal, and waits until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            await self.process.wait()


@contextlib.asynccontextmanager
async def worker_process(
    engine: EmbeddedEngine, queue: str, *options: str, handlers: str = HANDLERS, **settings: str
) -> AsyncIterator[WorkerProcess]:
    """A worker of this queue; killed at the end, if nobody ended it before."""
    arguments = ["--queues", queue, "--handlers", handlers, "--grace", "1s", *options]
    env = environment(DUETIME_TEMPORAL_ADDRESS=engine.address, **settings)
    process = await start_python(str(ROOT / "worker.py"), *arguments, cwd=ROOT, env=env)
    worker = WorkerProcess(process)
    reading = asyncio.ensure_future(worker.read())
    try:
        yield worker
    finally:
        await worker.end()
        await reading
