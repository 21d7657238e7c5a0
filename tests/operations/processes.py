"""Workers as processes of their own, which can be killed."""

import asyncio
import contextlib
import shlex
import signal
from collections.abc import AsyncIterator, Sequence
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
    """A worker of this queue."""
    arguments = ["--queues", queue, "--handlers", handlers, "--grace", "1s", *options]
    async with started(engine, ["worker.py", *arguments], **settings) as worker:
        yield worker


@contextlib.asynccontextmanager
async def as_suggested(engine: EmbeddedEngine, command: str) -> AsyncIterator[WorkerProcess]:
    """The command for a worker that an answer suggests, as it stands, on a machine that is set up for this service.

    Its settings say where the server is and which handlers there are; `my_app.handlers` is for the reader to fill in.
    """
    program, *arguments = shlex.split(command)
    assert program == "python"
    filled = [HANDLERS if word == "my_app.handlers" else word for word in arguments]
    async with started(engine, filled, DUETIME_HANDLERS=HANDLERS) as worker:
        yield worker
        await worker.end(signal.SIGTERM)  # in order, so that nobody takes it to live


@contextlib.asynccontextmanager
async def started(
    engine: EmbeddedEngine, command: Sequence[str], **settings: str
) -> AsyncIterator[WorkerProcess]:
    """A program of the service, given by its words; killed at the end, if nobody ended it before."""
    env = environment(DUETIME_TEMPORAL_ADDRESS=engine.address, **settings)
    process = await start_python(*command, cwd=ROOT, env=env)
    worker = WorkerProcess(process)
    reading = asyncio.ensure_future(worker.read())
    try:
        yield worker
    finally:
        await worker.end()
        await reading
