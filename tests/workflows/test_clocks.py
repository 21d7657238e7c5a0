"""The clocks of a job: each ends it with its own type, and the record of its attempts stays complete."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus

from duetime import Job, Snooze, attributes, handler
from duetime.contracts.instants import format_instant
from tests.support.jobs import NO_WAIT, Jobs, Outcome, outcome_of
from tests.support.waiting import eventually
from tests.support.workers import serving
from workflows.worker import orchestrator

FAILED = WorkflowExecutionStatus.FAILED
NEXT_HOUR = {"initial_interval": "1h", "max_interval": "1h"}


async def test_nobody_takes_the_job(jobs: Jobs) -> None:
    ended = await jobs.run("anything", queue_timeout="1s")
    assert (ended.status, ended.type, ended.outcomes) == (FAILED, "QueueTimeout", [])
    assert ended.message == "no worker took the job within its queue_timeout"


async def test_no_worker_has_a_handler_for_the_job(jobs: Jobs, client: Client) -> None:
    """To be given back is no end of the wait for a worker."""

    @handler("other")
    async def other(payload: dict[str, Any]) -> None: ...

    async with serving(client, jobs.queue, other):
        ended = await jobs.run("anything", queue_timeout="2s")
    assert (ended.status, ended.type, ended.outcomes) == (FAILED, "QueueTimeout", [])
    assert ended.message == (
        "no worker that has a handler for 'anything' took the job within its queue_timeout"
    )


async def test_attempts_that_take_too_long(jobs: Jobs, client: Client) -> None:
    stopped: list[str] = []

    @handler("long")
    async def long(payload: dict[str, Any], job: Job) -> None:
        await job.save_checkpoint({"row": job.attempt})
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(job.id)

    @handler("long.thread")
    def in_thread(payload: dict[str, Any], job: Job) -> None:
        try:
            while True:
                time.sleep(0.005)
        finally:
            stopped.append(job.id)

    @handler("recovers")
    async def recovers(payload: dict[str, Any], job: Job) -> Any:
        if job.attempt == 1:
            await job.save_checkpoint({"row": 7})
            await asyncio.Event().wait()
        return job.checkpoint

    async with serving(client, jobs.queue, long, in_thread, recovers):
        twice, thread, recovered, listed = await asyncio.gather(
            jobs.run("long", timeout="1s", retry=NO_WAIT | {"max_attempts": 2}),
            jobs.run("long.thread", timeout="1s", retry={"max_attempts": 1}),
            jobs.run("recovers", timeout="1s", retry=NO_WAIT),
            jobs.run("long", timeout="1s", retry={"non_retryable": ["AttemptTimeout"]}),
        )
    assert (twice.type, twice.outcomes) == ("AttemptTimeout", ["timed_out"] * 2)
    assert twice.ending.checkpoint == {"row": 2}
    assert (thread.type, thread.outcomes) == ("AttemptTimeout", ["timed_out"])
    assert (recovered.result, recovered.outcomes) == ({"row": 7}, ["timed_out", "succeeded"])
    assert (listed.type, listed.outcomes) == ("AttemptTimeout", ["timed_out"])
    assert len(stopped) == 4, "each handler was told"
    for attempt in twice.attempts:
        assert attempt.worker == client.identity and attempt.fencing_token
        assert attempt.finished_at is not None and attempt.started_at is not None
        assert attempt.finished_at > attempt.started_at


async def test_the_deadline_ends_a_job_wherever_it_stands(jobs: Jobs, client: Client) -> None:
    @handler("long")
    async def long(payload: dict[str, Any], job: Job) -> None:
        await asyncio.Event().wait()

    @handler("finishes")
    async def finishes(payload: dict[str, Any], job: Job) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "in the last moment"
        return ""

    @handler("fails")
    async def fails(payload: dict[str, Any], job: Job) -> None:
        await job.save_checkpoint("kept")
        raise ValueError("no luck")

    @handler("snoozes")
    async def snoozes(payload: dict[str, Any], job: Job) -> None:
        raise Snooze("1h")

    async with serving(client, jobs.queue, long, finishes, fails, snoozes):
        nobody = Jobs(client, f"{jobs.queue}-nobody")
        handles = [
            await nobody.start("anything", deadline="1s"),
            await jobs.start("long", deadline="2s", lease="2s"),
            await jobs.start("fails", deadline="2s", retry=NEXT_HOUR),
            await jobs.start("snoozes", deadline="2s"),
            await jobs.start("long", run_at="2020-01-01T00:00:00Z", deadline="1h"),
            await jobs.start("finishes", deadline="2s", lease="2s"),
        ]
        queued, running, retrying, snoozed, past, finished = await asyncio.gather(*map(outcome_of, handles))

    def expired(ended: Outcome) -> bool:
        return (ended.status, ended.type) == (FAILED, "DeadlineExceeded")

    assert all(map(expired, (queued, running, retrying, snoozed, past)))
    assert [end.outcomes for end in (queued, running, retrying, snoozed, past)] == [
        [],
        ["cancelled"],
        ["failed"],
        ["snoozed"],
        [],
    ]
    assert retrying.ending.checkpoint == "kept"
    assert finished.result == "in the last moment"
    for handle in handles[:5]:
        found = (await handle.describe()).typed_search_attributes
        assert found.get(attributes.OUTCOME) == "expired"
    assert (await handles[5].describe()).typed_search_attributes.get(attributes.OUTCOME) is None


async def test_the_deadline_counts_from_the_due_time(jobs: Jobs, client: Client) -> None:
    @handler("ok")
    async def ok(payload: dict[str, Any], job: Job) -> str:
        return "in time"

    async with serving(client, jobs.queue, ok):
        assert (await jobs.run("ok", delay="2s", deadline="1s")).result == "in time"


async def test_moving_a_job_moves_its_deadline(jobs: Jobs, client: Client) -> None:
    @handler("ok")
    async def ok(payload: dict[str, Any], job: Job) -> str:
        return "in time"

    async with serving(client, jobs.queue, ok):
        first = await jobs.start("ok", delay="4s")
        second = await jobs.start("ok", after=[first.id], deadline="3s")
        later = format_instant(datetime.now(UTC) + timedelta(hours=1))
        await second.execute_update("move", {"run_at": later})
        assert (await outcome_of(first)).result == "in time"
        assert (await second.describe()).status is WorkflowExecutionStatus.RUNNING
        await second.execute_update("run_now")
        assert (await outcome_of(second)).result == "in time"


async def test_the_deadline_counts_from_the_end_of_a_start_delay(jobs: Jobs, client: Client) -> None:
    """Temporal's own, of which the SDK tells workflow code nothing: our runner does."""
    seen: list[datetime] = []

    @handler("ok")
    async def ok(payload: dict[str, Any], job: Job) -> str:
        seen.append(job.due_at)
        return "in time"

    async with serving(client, jobs.queue, ok):
        job = {"kind": "ok", "queue": jobs.queue, "deadline": "2s"}
        handle = await jobs.start_raw(job, start_delay=timedelta(seconds=3))
        assert (await outcome_of(handle)).result == "in time"
        described = await handle.describe()
    assert described.execution_time is not None
    assert described.execution_time - described.start_time == timedelta(seconds=3)
    assert seen == [described.execution_time]
    assert described.typed_search_attributes.get(attributes.DUE_AT) == described.execution_time


async def test_a_start_that_nobody_took_in_time_counts_from_when_it_was_due(
    jobs: Jobs, client: Client
) -> None:
    """Not from when a worker for the workflows came: lateness is not forgiven, by hand or not."""
    quiet = f"{jobs.queue}-workflows"
    job = {"kind": "ok", "queue": jobs.queue, "deadline": "1s"}
    handle = await client.start_workflow("Job", job, id=f"late-{jobs.queue}", task_queue=quiet)
    started = (await handle.describe()).start_time
    await eventually(lambda: datetime.now(UTC) - started > timedelta(seconds=1.5))
    async with orchestrator(client, task_queue=quiet):
        ended = await outcome_of(handle)
    assert (ended.status, ended.type) == (FAILED, "DeadlineExceeded")


async def test_a_handlers_error_may_have_the_name_of_ours(jobs: Jobs, client: Client) -> None:
    """gRPC and others have a `DeadlineExceeded` too. Those who wait for the job hear that it failed."""

    class DeadlineExceeded(Exception):
        pass

    @handler("overdrawn")
    async def overdrawn(payload: dict[str, Any]) -> None:
        raise DeadlineExceeded("of somebody else's")

    async with serving(client, jobs.queue, overdrawn):
        first = await jobs.start("overdrawn", delay="2s", retry={"max_attempts": 1})
        second = await jobs.run("overdrawn", after=[first.id])
        ended = await outcome_of(first)
    assert (ended.type, ended.message) == ("DeadlineExceeded", "of somebody else's")
    assert (second.type, second.outcomes) == ("DependencyFailed", [])
    assert second.message.endswith("ended failed")


async def test_a_job_after_one_that_nobody_knows(jobs: Jobs) -> None:
    ended = await jobs.run("anything", after=["nobody-has-this-id"])
    assert ended.type == "DependencyFailed"
    assert ended.message.endswith("is not known (any more)")
