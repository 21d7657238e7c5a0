"""Handlers for tests to steer: each tells when it began, and ends when it is told."""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from duetime import Job, Reject, Snooze, handler

PATIENCE = 60.0


@dataclass
class Seen:
    """One attempt as the handler saw it."""

    attempt: int
    token: int
    payload: dict[str, Any]
    idempotency_key: str
    checkpoint: Any
    #: Set once it was stopped from outside.
    stopped: asyncio.Event = field(default_factory=asyncio.Event)


class Stage:
    """What the handlers below did, by job id."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, list[Seen]] = defaultdict(list)
        self._changed = asyncio.Condition()
        self._released: set[str] = set()
        #: Of the tests, for handlers in threads.
        self.loop: asyncio.AbstractEventLoop | None = None

    def attempts(self, job_id: str) -> list[Seen]:
        return self._seen[job_id]

    async def began(self, job_id: str, attempt: int = 1) -> Seen:
        """Waits until the handler has begun that many times."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(self._seen[job_id]) >= attempt)
        return self._seen[job_id][attempt - 1]

    async def release(self, job_id: str) -> None:
        """Lets the handler of this job return, now or when it begins."""
        async with self._changed:
            self._released.add(job_id)
            self._changed.notify_all()

    async def release_all(self) -> None:
        """Lets everything go, so that no handler outlives its test."""
        async with self._changed:
            self._released.update(self._seen)
            self._changed.notify_all()

    def is_released(self, job_id: str) -> bool:
        return job_id in self._released

    async def enter(self, job: Job, payload: dict[str, Any]) -> Seen:
        seen = Seen(job.attempt, job.fencing_token, payload, job.idempotency_key, job.checkpoint)
        async with self._changed:
            self._seen[job.id].append(seen)
            self._changed.notify_all()
        return seen

    async def wait(self, job_id: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.is_released(job_id))


STAGE = Stage()


@handler("echo")
async def echo(payload: dict[str, Any], job: Job) -> dict[str, Any]:
    """Returns its payload."""
    await STAGE.enter(job, payload)
    return payload


@handler("gate")
async def gate(payload: dict[str, Any], job: Job) -> str:
    """Waits until the test opens it."""
    seen = await STAGE.enter(job, payload)
    try:
        await STAGE.wait(job.id)
    except asyncio.CancelledError:
        seen.stopped.set()
        raise
    return "opened"


@handler("sync-gate")
def sync_gate(payload: dict[str, Any], job: Job) -> str:
    """The same in a thread."""
    assert STAGE.loop is not None
    seen = asyncio.run_coroutine_threadsafe(STAGE.enter(job, payload), STAGE.loop).result()
    try:
        while not STAGE.is_released(job.id):
            time.sleep(0.01)
    except BaseException:
        STAGE.loop.call_soon_threadsafe(seen.stopped.set)
        raise
    return "opened"


@handler("flaky")
async def flaky(payload: dict[str, Any], job: Job) -> str:
    """Fails as many times as the payload says."""
    await STAGE.enter(job, payload)
    if job.attempt <= payload.get("failures", 1):
        raise ConnectionError(f"failure {job.attempt}")
    return f"done at attempt {job.attempt}"


@handler("stubborn")
async def stubborn(payload: dict[str, Any], job: Job) -> str:
    """Does not end when it is told to, but when the test says so."""
    seen = await STAGE.enter(job, payload)
    while True:
        try:
            await STAGE.wait(job.id)
        except asyncio.CancelledError:
            seen.stopped.set()
        else:
            return "in its own time"


@handler("hung", heartbeat="manual")
async def hung(payload: dict[str, Any], job: Job) -> str:
    """Gives no sign of life but the first."""
    await STAGE.enter(job, payload)
    await STAGE.wait(job.id)
    return "too late"


@handler("reject")
async def reject(payload: dict[str, Any], job: Job) -> None:
    """Fails for good."""
    await STAGE.enter(job, payload)
    raise Reject("no")


@handler("sleepy")
async def sleepy(payload: dict[str, Any], job: Job) -> str:
    """Snoozes once for as long as the payload says."""
    await STAGE.enter(job, payload)
    if len(STAGE.attempts(job.id)) == 1:
        raise Snooze(payload["snooze"])
    return "awake"


HANDLERS = [echo, gate, sync_gate, flaky, stubborn, hung, reject, sleepy]
