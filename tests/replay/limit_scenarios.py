"""Lives of jobs under a limit, and of the limits that hand out their places."""

import contextlib
from datetime import UTC, datetime
from typing import Any

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from duetime.contracts.concurrency import LIMIT, LINE, limit_of_key
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.queue_concurrency import lift_queue_concurrency, set_queue_concurrency
from tests.replay.stage import SCENARIOS, Stage, later, scenario, to_its_end
from tests.support.jobs import NO_WAIT, held, reason_of
from tests.support.waiting import eventually
from workflows.queue_limits import may_be_limited


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
NEED_A_CACHE = {name for name, play in SCENARIOS.items() if play.__module__ == __name__}
