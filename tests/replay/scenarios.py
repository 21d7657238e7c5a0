"""Lives of jobs, one for each way through the workflow: recorded once, replayed for ever."""

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import WorkflowHandle

from duetime import handler
from duetime.contracts.carry import StopRequest
from duetime.contracts.pauses import Note
from duetime.queue_limit import set_queue_limit
from tests.replay.stage import NEXT_HOUR, Stage, later, scenario, to_its_end
from tests.support.jobs import NO_WAIT, acknowledged, held, is_backing_off, is_queued, outcome_of, reason_of
from tests.support.waiting import eventually
from tests.support.workers import serving


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
