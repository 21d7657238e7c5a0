"""Lives of jobs, one for each way through the workflow: recorded once, replayed for ever."""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from duetime import Job, Snooze, handler
from duetime.contracts.carry import StopRequest
from duetime.contracts.concurrency import LIMIT, LINE, limit_of_key
from duetime.contracts.instants import format_instant
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.pauses import Note
from duetime.queue_concurrency import lift_queue_concurrency, set_queue_concurrency
from duetime.queue_limit import set_queue_limit
from tests.support.jobs import (
    NO_WAIT,
    Jobs,
    acknowledged,
    held,
    is_backing_off,
    is_queued,
    outcome_of,
    reason_of,
)
from tests.support.waiting import eventually
from tests.support.workers import serving
from workflows.queue_limits import may_be_limited

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


@scenario
async def happy(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("ok", {"a": [1, None, "é"]}, tags=["x"]))


@scenario
async def delayed(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("ok", delay="3s", spread="1s"))


@scenario
async def start_delayed(stage: Stage) -> WorkflowHandle:
    """Held back by Temporal's own start delay, as the CLI and SDKs have it."""
    async with stage.worker():
        job = {"kind": "ok", "queue": stage.queue, "deadline": "1h"}
        return await to_its_end(await stage.jobs.start_raw(job, start_delay=timedelta(seconds=2)))


@scenario
async def start_delayed_asked_locally(stage: Stage) -> WorkflowHandle:
    """The same while a local activity asked."""
    return await start_delayed(stage)


@scenario
async def start_delayed_told(stage: Stage) -> WorkflowHandle:
    """The same since the runner tells."""
    return await start_delayed(stage)


@scenario
async def in_a_time_zone(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        when = {"run_at": "2026-03-08T02:30:00", "timezone": "America/New_York"}
        return await to_its_end(await stage.jobs.start("ok", **when))


@scenario
async def retries(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("fails", {"times": 2}, retry=NO_WAIT))


@scenario
async def failed(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("fails", retry=NO_WAIT | {"max_attempts": 2}))


@scenario
async def lease_lost(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("hangs", lease="2s", retry=NO_WAIT))


@scenario
async def lease_lost_for_good(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        retry = NO_WAIT | {"max_attempts": 1}
        return await to_its_end(await stage.jobs.start("hangs", lease="2s", retry=retry))


@scenario
async def timed_out(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("hangs", timeout="1s", retry=NO_WAIT))


@scenario
async def snoozed(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("snoozes", {"times": 3, "delay": 0.5}))


@scenario
async def interrupted(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        handle = await stage.jobs.start("waits")
        await acknowledged(handle)
    async with stage.worker():
        return await to_its_end(handle)


@scenario
async def cancelled_running(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        handle = await stage.jobs.start("waits", lease="2s")
        await held(handle)
        await handle.cancel()
        return await to_its_end(handle)


@scenario
async def cancelled_with_a_grace(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        handle = await stage.jobs.start("deaf", lease="2s")
        seen = await acknowledged(handle)
        stop = StopRequest(grace=timedelta(seconds=1), reason="enough", seen=seen)
        await handle.signal("stop", stop.model_dump(mode="json"))
        await handle.cancel()
        return await to_its_end(handle)


@scenario
async def cancelled_waiting(stage: Stage) -> WorkflowHandle:
    handle = await stage.jobs.start("ok", delay="1h")
    await handle.execute_update("move", {"run_at": later(2)})
    await handle.cancel()
    return await to_its_end(handle)


@scenario
async def cancelled_queued(stage: Stage) -> WorkflowHandle:
    handle = await stage.jobs.start("ok")
    await eventually(lambda: is_queued(handle))
    await handle.cancel()
    return await to_its_end(handle)


@scenario
async def cancelled_backing_off(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        handle = await stage.jobs.start("fails", retry=NEXT_HOUR)
        await eventually(lambda: is_backing_off(handle))
        await handle.cancel()
        return await to_its_end(handle)


@scenario
async def moved_twice(stage: Stage) -> WorkflowHandle:
    handle = await stage.jobs.start("ok", delay="1h")
    await handle.execute_update("move", {"run_at": later(2), "priority": 1})
    await handle.execute_update("move", {"run_at": later(-1)})
    async with stage.worker():
        return await to_its_end(handle)


@scenario
async def moved_queued(stage: Stage) -> WorkflowHandle:
    handle = await stage.jobs.start("ok")
    await eventually(lambda: is_queued(handle))
    await handle.execute_update("move", {"run_at": later(1)})
    await handle.execute_update("run_now")
    async with stage.worker():
        return await to_its_end(handle)


@scenario
async def run_now(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        handle = await stage.jobs.start("snoozes", {"delay": "1h"}, delay="1h")
        await handle.execute_update("run_now")
        await eventually(lambda: reason_of(handle))
        await handle.execute_update("run_now")
        return await to_its_end(handle)


@scenario
async def expired_running(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        return await to_its_end(await stage.jobs.start("waits", lease="2s", deadline="5s"))


@scenario
async def expired_queued(stage: Stage) -> WorkflowHandle:
    return await to_its_end(await stage.jobs.start("ok", deadline="1s"))


@scenario
async def queue_timeout(stage: Stage) -> WorkflowHandle:
    return await to_its_end(await stage.jobs.start("ok", queue_timeout="1s"))


@scenario
async def outlived_a_pause(stage: Stage) -> WorkflowHandle:
    """Longer than its `queue_timeout`: the server ends the wait, and the job goes back to it."""
    paused = Note().paused(datetime.now(UTC))
    await set_queue_limit(stage.client, stage.queue, 0, paused)
    handle = await stage.jobs.start("ok", queue_timeout="2s")

    async def went_back() -> bool:
        described = await handle.describe()
        return [found.activity_id for found in described.raw_description.pending_activities] == ["2"]

    await eventually(went_back)
    async with stage.worker():
        await set_queue_limit(stage.client, stage.queue, None, paused.resumed(datetime.now(UTC)))
        outcome = await outcome_of(handle)
    assert outcome.outcomes == ["succeeded"]
    return handle


@scenario
async def bad_input(stage: Stage) -> WorkflowHandle:
    return await to_its_end(await stage.jobs.start_raw({"kind": "a b", "pririty": 1}))


@scenario
async def no_handler(stage: Stage) -> WorkflowHandle:
    @handler("other")
    async def other(payload: dict[str, Any]) -> None: ...

    async with serving(stage.client, stage.queue, other):
        handle = await stage.jobs.start("ok")
        await eventually(lambda: reason_of(handle))
    async with stage.worker():
        return await to_its_end(handle)


@scenario
async def after_another(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        first = await stage.jobs.start("ok", delay="2s")
        second = await stage.jobs.start("ok", after=[first.id])
        await to_its_end(second)
        return second


def only_one(stage: Stage) -> dict[str, Any]:
    return {"key": stage.queue, "limit": 1}


@scenario
async def limited(stage: Stage) -> WorkflowHandle:
    """Fails once, under a limit: it comes back to the workflow, and asks for a place again."""
    async with stage.worker():
        return await to_its_end(
            await stage.jobs.start("fails", {"times": 1}, retry=NO_WAIT, concurrency=only_one(stage))
        )


async def _waits_for(stage: Stage, count: int) -> WorkflowHandle:
    """The limit of the stage, once so many wait for it."""
    handle = stage.client.get_workflow_handle(limit_of_key(stage.queue))

    async def waiting() -> bool:
        with contextlib.suppress(RPCError):  # It may not have begun.
            return bool((await handle.query(LINE))["waiting"] == count)
        return False

    await eventually(waiting)
    return handle


@scenario
async def limited_and_moved(stage: Stage) -> WorkflowHandle:
    """In the line twice, with another priority, and cancelled there."""
    async with stage.worker():
        first = await stage.jobs.start("waits", lease="2s", concurrency=only_one(stage))
        await held(first)
        second = await stage.jobs.start("ok", concurrency=only_one(stage))
        await _waits_for(stage, 1)
        await second.execute_update("move", {"priority": 1})
        await second.execute_update("move", {"run_at": later(1)})
        await second.execute_update("run_now")
        await _waits_for(stage, 1)
        await second.cancel()
        await to_its_end(second)
        await first.terminate()
    return second


@scenario
async def limited_too_late(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        first = await stage.jobs.start("waits", concurrency=only_one(stage))
        await held(first)
        second = await stage.jobs.start("ok", concurrency=only_one(stage), queue_timeout="1s")
        await to_its_end(second)
        await first.terminate()
    return second


@scenario
async def limit(stage: Stage) -> WorkflowHandle:
    """The limit's own: three in the line, one of them leaves it, another limit is said."""
    async with stage.worker():
        jobs = [await stage.jobs.start("waits", lease="2s", concurrency=only_one(stage))]
        await held(jobs[0])
        jobs += [await stage.jobs.start("ok", concurrency=only_one(stage)) for _ in range(3)]
        handle = await _waits_for(stage, 3)
        await jobs[1].cancel()
        await _waits_for(stage, 2)
        jobs.append(await stage.jobs.start("ok", concurrency={"key": stage.queue, "limit": 2}))
        for job in jobs[2:]:
            await to_its_end(job)
        await jobs[0].cancel()
        await to_its_end(jobs[0])

        async def is_empty() -> bool:
            return bool((await handle.query(LINE))["held"] == 0)

        await eventually(is_empty)
    return handle


@scenario
async def limit_taken_over(stage: Stage) -> WorkflowHandle:
    """As an earlier run left it: one has a place and is not there any more, one waits that is not either."""
    before = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    packed = {
        "limit": 1,
        "limit_at": before,
        "news": [],
        "lapsing": [["lapsed", before]],
        "holders": [["gone", "c", 1, 1.0, before, before, 10_000, False]],
        "waiters": [["nobody", "c", 1, 3, before, 1.0]],
    }
    handle = await stage.client.start_workflow(
        LIMIT, packed, id=limit_of_key(stage.queue), task_queue=ORCHESTRATION_QUEUE
    )

    async def is_empty() -> bool:
        line = await handle.query(LINE)
        return bool(line["held"] == line["waiting"] == 0)

    await eventually(is_empty)
    return handle


@scenario
async def queue_limited(stage: Stage) -> WorkflowHandle:
    """At its first attempt alone: before the second, the limit is lifted."""
    await set_queue_concurrency(stage.client, stage.queue, 1, "a test", "recorder")
    await eventually(lambda: may_be_limited(stage.queue))
    async with stage.worker():
        handle = await stage.jobs.start("snoozes", {"delay": "1h"})
        await eventually(lambda: reason_of(handle))
        await lift_queue_concurrency(stage.client, stage.queue)
        await eventually(lambda: not may_be_limited(stage.queue))
        await handle.execute_update("run_now")
        return await to_its_end(handle)


@scenario
async def queue_limited_later(stage: Stage) -> WorkflowHandle:
    """The other way round."""
    async with stage.worker():
        handle = await stage.jobs.start("snoozes", {"delay": "1h"})
        await eventually(lambda: reason_of(handle))
        await set_queue_concurrency(stage.client, stage.queue, 1, "a test", "recorder")
        await eventually(lambda: may_be_limited(stage.queue))
        await handle.execute_update("run_now")
        return await to_its_end(handle)


#: Without a cache the SDK cancels and repeats local activities, each time after a workflow task has timed out.
NEED_A_CACHE = {name for name in SCENARIOS if "limit" in name}
