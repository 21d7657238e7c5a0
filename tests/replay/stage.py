"""Where scenarios play, the handlers they play with, and the list of them all."""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client, WorkflowHandle

from duetime import Job, Snooze, handler
from duetime.contracts.instants import format_instant
from tests.support.jobs import Jobs, outcome_of
from tests.support.workers import serving

Scenario = Callable[["Stage"], Awaitable[WorkflowHandle]]
SCENARIOS: dict[str, Scenario] = {}
NEXT_HOUR = {"initial_interval": "1h", "max_interval": "1h", "jitter": 0}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[getattr(function, "__name__", "")] = function
    return function


@dataclass(frozen=True)
class Stage:
    """Where one scenario plays: a queue of its own, served by `worker` as long as it says."""

    client: Client
    queue: str

    @classmethod
    def new(cls, client: Client) -> "Stage":
        return cls(client, f"replay-{uuid.uuid4().hex[:8]}")

    @property
    def jobs(self) -> Jobs:
        return Jobs(self.client, self.queue)

    def worker(self, grace: float = 0.1) -> Any:
        return serving(self.client, self.queue, ok, fails, waits, deaf, hangs, snoozes, grace=grace)


def later(hours: float) -> str:
    return format_instant(datetime.now(UTC).replace(microsecond=0) + timedelta(hours=hours))


@handler("ok")
async def ok(payload: dict[str, Any]) -> dict[str, Any]:
    return payload


@handler("fails")
async def fails(payload: dict[str, Any], job: Job) -> int:
    if job.attempt <= payload.get("times", 1_000):
        raise ConnectionError(f"hung up {job.attempt}")
    return job.attempt


@handler("waits")
async def waits(payload: dict[str, Any], job: Job) -> int:
    if job.checkpoint is None:
        await job.save_checkpoint({"row": 7})
        await asyncio.Event().wait()
    return job.attempt


@handler("deaf")
async def deaf(payload: dict[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + 4
    while loop.time() < until:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.1)


@handler("hangs", heartbeat="manual")
async def hangs(payload: dict[str, Any], job: Job) -> int:
    if job.attempt <= payload.get("times", 1):
        await asyncio.Event().wait()
    return job.attempt


@handler("snoozes")
async def snoozes(payload: dict[str, Any], job: Job) -> None:
    done = (job.checkpoint or 0) + 1
    await job.save_checkpoint(done)
    if done <= payload.get("times", 1):
        raise Snooze(payload.get("delay", 0))


async def to_its_end(handle: WorkflowHandle) -> WorkflowHandle:
    await outcome_of(handle)
    return handle
