"""Workers for tests: in this process for a moment, or as the real `worker.py` that signals can reach."""

import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client

from duetime.engine.child import Child
from duetime.worker import Worker
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]


def serving(client: Client, queue: str, *handlers: Any, grace: float = 0.1, concurrency: int = 20) -> Worker:
    """A worker in this process; on leaving, what still runs gets `grace` seconds."""
    return Worker(client, handlers, queues=[queue], grace=timedelta(seconds=grace), concurrency=concurrency)


class WorkerProcess:
    """A `worker.py` of its own, with its output."""

    def __init__(self, address: str, queue: str, *arguments: str, workflows: bool = False) -> None:
        self.lines: list[str] = []
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
        settings = {"DUETIME_TEMPORAL_ADDRESS": address, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        self.child = Child(
            "worker",
            [
                sys.executable,
                str(ROOT / "worker.py"),
                *([] if workflows else ["--no-workflows"]),
                "--queues",
                queue,
                "--handlers",
                "tests.support.handlers",
                *arguments,
            ],
            env=clean | settings,
            on_line=self.lines.append,
        )

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def identity(self) -> re.Pattern[str]:
        return re.compile(rf"{self.child.pid}@.+")

    async def ready(self) -> None:
        await eventually(lambda: "serving" in self.output or not self.child.running)
        assert self.child.running, self.output

    async def kill(self) -> None:
        await self.child.kill()

    def terminate(self) -> None:
        self.child.signal(signal.SIGTERM)


@asynccontextmanager
async def worker_processes(
    address: str, queue: str, count: int = 1, arguments: Sequence[str] = ()
) -> AsyncIterator[list[WorkerProcess]]:
    """`count` processes that serve `queue`, ready; killed at the end if they still run."""
    running = [WorkerProcess(address, queue, *arguments) for _ in range(count)]
    try:
        for process in running:
            await process.ready()
        yield running
    finally:
        for process in running:
            await process.kill()
