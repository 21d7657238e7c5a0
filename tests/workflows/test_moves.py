"""Moving a job and running it now, in every phase."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from duetime import Job, Snooze, attributes, handler
from duetime.contracts.instants import format_instant
from tests.support.jobs import Jobs, held, is_backing_off, is_queued, outcome_of, reason_of, view_of
from tests.support.waiting import eventually
from tests.support.workers import serving


def far(hours: float = 1) -> str:
    return format_instant(datetime.now(UTC) + timedelta(hours=hours))


async def move(handle: WorkflowHandle, run_at: str | None = None, **more: Any) -> None:
    await handle.execute_update("move", {"run_at": run_at} | more if run_at else more)


async def refused(handle: WorkflowHandle, name: str, *arguments: Any) -> str:
    """The type of the refusal of an update."""
    with pytest.raises((WorkflowUpdateFailedError, RPCError)) as error:
        await handle.execute_update(name, args=arguments)
    if isinstance(error.value, RPCError):
        assert error.value.status is RPCStatusCode.NOT_FOUND
        return "NotFound"
    assert isinstance(error.value.cause, ApplicationError)
    return error.value.cause.type or ""


@handler("ok")
async def ok(payload: dict[str, Any], job: Job) -> str:
    return job.due_at.isoformat()


async def test_a_job_that_waits_is_moved_there_and_back(jobs: Jobs, client: Client) -> None:
    handle = await jobs.start("ok", delay="1h")
    there, back = far(3), far(-1)
    await move(handle, there)
    view = await view_of(handle)
    assert view is not None and view.due_at is not None and format_instant(view.due_at) == there
    described = await handle.describe()
    assert described.typed_search_attributes.get(attributes.DUE_AT) is not None
    async with serving(client, jobs.queue, ok):
        await move(handle, far(2))
        await move(handle, back, priority=1)
        ended = await outcome_of(handle)
    assert format_instant(datetime.fromisoformat(ended.result)) == back
    view = await view_of(handle)
    assert view is not None and view.priority == 1
    assert await refused(handle, "move", {"run_at": there}) == "NotFound"


@pytest.mark.parametrize("named", [{"run_at": far(1)}, {}], ids=["by us", "by hand"])
async def test_a_start_that_the_server_delays_is_moved_too(
    named: dict[str, Any], jobs: Jobs, client: Client
) -> None:
    """An update wakes a delayed start; the workflow waits out the rest itself, also of a job that names no time."""
    job = {"kind": "ok", "queue": jobs.queue, **named}
    moved, hurried = [await jobs.start_raw(job, start_delay=timedelta(hours=1)) for _ in range(2)]
    async with serving(client, jobs.queue, ok):
        await move(moved, far(2))
        assert (await moved.describe()).raw_description.pending_activities == []
        await move(moved, far(-0.1))
        await hurried.execute_update("run_now")
        for ended in await asyncio.gather(outcome_of(moved), outcome_of(hurried)):
            assert ended.outcomes == ["succeeded"]


async def test_a_queued_job_leaves_its_queue_and_comes_back(jobs: Jobs, client: Client) -> None:
    handle = await jobs.start("ok")
    await eventually(lambda: is_queued(handle))
    await asyncio.gather(move(handle, far(1)), move(handle, far(2)))
    assert (await handle.describe()).raw_description.pending_activities == []
    await handle.execute_update("run_now")
    await eventually(lambda: is_queued(handle))
    await move(handle, priority=2)
    assert await is_queued(handle), "a priority alone moves nothing"
    assert await refused(handle, "run_now") == "TooLate"
    async with serving(client, jobs.queue, ok):
        assert (await outcome_of(handle)).outcomes == ["succeeded"]


async def test_moving_a_running_job_stops_it_and_starts_it_again(jobs: Jobs, client: Client) -> None:
    """Only a race leads here: who asks first finds it queued."""

    @handler("long")
    async def long(payload: dict[str, Any], job: Job) -> int:
        await job.save_checkpoint(job.fencing_token)
        if job.checkpoint is None:
            await asyncio.Event().wait()
        return job.attempt

    @handler("finishes")
    async def finishes(payload: dict[str, Any]) -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "done"

    async with serving(client, jobs.queue, long, finishes):
        again, done = await jobs.start("long", lease="2s"), await jobs.start("finishes", lease="2s")
        await held(again)
        await held(done)
        _, late = await asyncio.gather(move(again, far(-1)), refused(done, "move", {"run_at": far(1)}))
        ended, finished = await asyncio.gather(outcome_of(again), outcome_of(done))
    assert ended.outcomes == ["cancelled", "succeeded"]
    assert ended.result == 1, "the stopped attempt cost none"
    assert late == "TooLate"
    assert (finished.result, finished.outcomes) == ("done", ["succeeded"])


async def test_a_job_that_waits_for_its_next_attempt_runs_now(jobs: Jobs, client: Client) -> None:
    @handler("snooze")
    async def snooze(payload: dict[str, Any], job: Job) -> None:
        if job.checkpoint is None:
            await job.save_checkpoint(1)
            raise Snooze("1h")

    @handler("fail")
    async def fail(payload: dict[str, Any], job: Job) -> None:
        raise ValueError

    async with serving(client, jobs.queue, snooze, fail):
        snoozed = await jobs.start("snooze")
        failing = await jobs.start("fail", retry={"initial_interval": "1h", "max_interval": "1h"})
        await eventually(lambda: reason_of(snoozed))
        assert await refused(snoozed, "move", {"run_at": far(1)}) == "TooLate"
        await snoozed.execute_update("run_now")
        assert (await outcome_of(snoozed)).outcomes == ["snoozed", "succeeded"]
        await eventually(lambda: is_backing_off(failing))
        assert await refused(failing, "run_now") == "TooLate", (
            "the server holds that one back, not the workflow"
        )
        await move(failing, far(1))
        view = await view_of(failing)
        assert view is not None and [a.outcome for a in view.record.attempts] == ["failed"]
        await failing.cancel()
        assert (await outcome_of(failing)).outcomes == ["failed"], "moving it forgets no attempt"


async def test_changes_that_are_none_are_refused_and_harm_nothing(jobs: Jobs, client: Client) -> None:
    handle = await jobs.start("ok", delay="1h")
    for nonsense in (
        [{"run_at": "soon"}],
        [{"run_at": "2027-01-15T09:00:00"}],
        [{"run_at": "0001-01-01T00:00:00+14:00"}],
        [{"run_at": "9000-01-01T00:00:00Z"}],
        [{"run_at": 5}],
        [{"priority": 0}],
        [{"priority": "2"}],
        [{"priority": True}],
        [{}],
        ["text"],
        [[]],
        [None],
        [],
        [{}, {}],
    ):
        assert await refused(handle, "move", *nonsense) != "NotFound", nonsense
    assert await refused(handle, "no-such-update") != "NotFound"
    assert (await view_of(handle)) is None
    async with serving(client, jobs.queue, ok):
        await asyncio.gather(*(handle.execute_update("run_now") for _ in range(2)), return_exceptions=True)
        assert (await outcome_of(handle)).outcomes == ["succeeded"]


async def test_what_is_no_job_is_not_moved(jobs: Jobs, client: Client) -> None:
    handle = await jobs.start_raw({"kind": "a b"}, start_delay=timedelta(hours=1))
    assert await refused(handle, "move", {"run_at": far(1)}) in ("TooLate", "NotFound")
    assert (await outcome_of(handle)).type == "InvalidJob"
