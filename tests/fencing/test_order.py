"""Whatever makes a job run again, the token that its handler gets is higher than every one before."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import (
    PauseActivityRequest,
    ResetActivityRequest,
    ResetWorkflowExecutionRequest,
    UnpauseActivityRequest,
)
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from duetime import Job, Snooze, handler
from duetime.connection import connect
from duetime.contracts.carry import Carry
from duetime.contracts.instants import EPOCH
from duetime.contracts.record import Attempt, Record
from duetime.contracts.states import AttemptOutcome
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.api.caller import Caller
from tests.support.jobs import NO_WAIT, Jobs, acknowledged, held, is_backing_off, outcome_of
from tests.support.waiting import eventually
from tests.support.workers import serving
from workflows.worker import orchestrator

MICROSECOND = timedelta(microseconds=1)


class Log:
    """The tokens in the order in which handlers began, and a handler that ends when it is told how."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.keys: list[str] = []
        self.stopped = 0
        self.ends: asyncio.Queue[BaseException | None] = asyncio.Queue()

    async def run(self, payload: dict[str, Any], job: Job) -> int:
        self.tokens.append(job.fencing_token)
        self.keys.append(job.idempotency_key)
        try:
            end = await self.ends.get()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        if end is not None:
            raise end
        return len(self.tokens)

    async def began(self, times: int) -> None:
        await eventually(lambda: len(self.tokens) >= times)

    def grew(self, times: int) -> bool:
        return len(self.tokens) == times and self.tokens == sorted(set(self.tokens))


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def logged(log: Log) -> Any:
    @handler("logged")
    async def logged(payload: dict[str, Any], job: Job) -> int:
        return await log.run(payload, job)

    return logged


async def reset_activity(client: Client, handle: WorkflowHandle, activity: str = "1") -> None:
    await client.workflow_service.reset_activity(
        ResetActivityRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id=handle.id),
            id=activity,
            identity="somebody",
        )
    )


async def test_through_retries_and_activity_resets(jobs: Jobs, client: Client, log: Log, logged: Any) -> None:
    """A reset starts the server's own count of attempts again; while a handler runs it ends that first."""
    async with serving(client, jobs.queue, logged):
        handle = await jobs.start("logged", retry={"initial_interval": "30s", "jitter": 0}, lease="2s")
        log.ends.put_nowait(ConnectionError("again"))
        await eventually(lambda: is_backing_off(handle))
        await reset_activity(client, handle)
        await log.began(2)
        await acknowledged(handle)
        await reset_activity(client, handle)  # the running one is told at its next sign of life
        await log.began(3)
        log.ends.put_nowait(None)
        ended = await outcome_of(handle)
    assert log.grew(3)
    assert ended.tokens == log.tokens
    assert ended.outcomes == ["failed", "interrupted", "succeeded"]


async def test_through_workflow_resets(jobs: Jobs, client: Client, log: Log, logged: Any) -> None:
    """A new run that keeps the old one's start time; what the old run's attempt holds is void at once."""
    async with serving(client, jobs.queue, logged):
        handle = await jobs.start("logged")
        for times in (1, 2):
            await log.began(times)
            await reset_workflow(client, handle)
        await log.began(3)
        for _ in range(3):
            log.ends.put_nowait(None)
        ended = await outcome_of(client.get_workflow_handle(handle.id))
    assert log.grew(3)
    assert ended.tokens == log.tokens[-1:]
    assert len(set(log.keys)) == 1, "it is still the same job"


@pytest.mark.parametrize("max_attempts", [1, 2])
async def test_through_pauses(jobs: Jobs, client: Client, log: Log, logged: Any, max_attempts: int) -> None:
    """Paused through Temporal and let go on: no attempt is used up, the last one neither."""
    async with serving(client, jobs.queue, logged):
        handle = await jobs.start("logged", lease="4s", retry=NO_WAIT | {"max_attempts": max_attempts})
        await log.began(1)
        about = {
            "namespace": client.namespace,
            "execution": WorkflowExecution(workflow_id=handle.id),
            "id": "1",
            "identity": "somebody",
        }
        await client.workflow_service.pause_activity(PauseActivityRequest(**about))
        await eventually(lambda: log.stopped == 1)
        with contextlib.suppress(RPCError):  # where it was the server's last attempt, the job went on already
            await client.workflow_service.unpause_activity(UnpauseActivityRequest(**about))
        await log.began(2)
        for _ in range(max_attempts - 1):
            log.ends.put_nowait(ConnectionError("again"))
        log.ends.put_nowait(None)
        ended = await outcome_of(handle)
    assert log.grew(1 + max_attempts)
    assert ended.tokens == log.tokens
    assert ended.outcomes == ["interrupted", *["failed"] * (max_attempts - 1), "succeeded"]


async def reset_workflow(client: Client, handle: WorkflowHandle) -> None:
    latest = client.get_workflow_handle(handle.id)
    described = await latest.describe()
    first_task = next(
        event.event_id
        for event in (await latest.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    )
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=handle.id, run_id=described.run_id),
            reason="test",
            workflow_task_finish_event_id=first_task,
            request_id=described.run_id or "",
        )
    )


async def test_through_redrives(api: Caller, client: Client, log: Log, logged: Any) -> None:
    async with serving(client, api.queue, logged):
        job_id = (await api.submit("logged", retry={"max_attempts": 1}))["id"]
        for end in (ValueError("1"), ValueError("2"), None):
            log.ends.put_nowait(end)
            job = await api.final(job_id)
            assert [attempt["fencing_token"] for attempt in job["attempts"]] == log.tokens[-1:]
            if end is not None:
                assert (await api.command(job_id, "retry")).status_code == 200
    assert log.grew(3)
    assert len(set(log.keys)) == 1


async def test_through_replacements_while_it_runs(api: Caller, client: Client, log: Log, logged: Any) -> None:
    """No lease has to run out first: the next attempt begins a few milliseconds after the last one."""
    async with serving(client, api.queue, logged):
        job_id = "replaced-" + api.queue
        for times in range(1, 7):
            await api.submit("logged", id=job_id, on_conflict="replace")
            await log.began(times)
            job = await api.until(job_id, "running")
            assert job["lease"]["fencing_token"] == log.tokens[-1]
        for _ in range(6):
            log.ends.put_nowait(None)
        job = await api.final(job_id)
    assert log.grew(6)
    assert [attempt["fencing_token"] for attempt in job["attempts"]] == log.tokens[-1:]
    assert len(set(log.keys)) == 6, "each is a job of its own"


async def test_through_reused_ids(api: Caller, client: Client, log: Log, logged: Any) -> None:
    async with serving(client, api.queue, logged):
        job_id = "reused-" + api.queue
        for _ in range(3):
            log.ends.put_nowait(None)
            await api.submit("logged", id=job_id, reuse_id=True)
            await api.final(job_id)
    assert log.grew(3)
    assert len(set(log.keys)) == 3


async def test_through_forced_cancels_and_redrives(
    api: Caller, client: Client, log: Log, logged: Any
) -> None:
    """The handler that was cancelled by force still runs when its successor begins."""
    async with serving(client, api.queue, logged):
        job_id = (await api.submit("logged"))["id"]
        for times in (1, 2):
            await log.began(times)
            assert (await api.command(job_id, "cancel", mode="force")).status_code == 202
            assert (await api.command(job_id, "retry")).status_code == 200
        await log.began(3)
        for _ in range(3):
            log.ends.put_nowait(None)
        await api.final(job_id)
    assert log.grew(3)


async def test_through_fresh_histories() -> None:
    """A job that comes back for ever gets a new run whenever its history has grown long."""
    seen: list[int] = []

    @handler("snoozes")
    async def snoozes(payload: dict[str, Any], job: Job) -> int:
        seen.append(job.fencing_token)
        if len(seen) < 6:
            raise Snooze(0)
        return len(seen)

    short = {"limit.historyCount.suggestContinueAsNew": "12"}
    async with EmbeddedEngine(EngineConfig(ui_port=None, dynamic_config=short)) as engine:
        client = await connect(engine.address)
        async with orchestrator(client), serving(client, "q", snoozes):
            handle = await Jobs(client, "q").start("snoozes")
            ended = await outcome_of(client.get_workflow_handle(handle.id))
            described = await client.get_workflow_handle(handle.id).describe()
    assert described.run_id != handle.first_execution_run_id, "there were several runs"
    assert len(seen) == 6 and seen == sorted(set(seen)) == ended.tokens


# -- the server's clock ---------------------------------------------------------------------------------------


def token(when: datetime) -> int:
    return (when - EPOCH) // MICROSECOND


def attempt(number: int, fencing_token: int | None) -> Attempt:
    return Attempt(number=number, fencing_token=fencing_token, outcome=AttemptOutcome.FAILED)


NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (Record(), token(NOW)),
        (Record(attempts=[attempt(1, token(NOW) - 1)]), token(NOW)),
        # Two dispatches in one microsecond, or a clock that was set back: above all the same.
        (Record(attempts=[attempt(1, token(NOW))]), token(NOW) + 1),
        (Record(attempts=[attempt(1, token(NOW) + 7), attempt(2, None)]), token(NOW) + 8),
        (Record(attempts=[attempt(1, token(NOW) + 7), attempt(2, token(NOW))]), token(NOW) + 8),
        (Record(token_floor=token(NOW) + 9, attempts=[attempt(1, 5)]), token(NOW) + 10),
    ],
)
def test_a_token_is_the_dispatch_time_but_above_all_that_are_known(record: Record, expected: int) -> None:
    assert record.token_at(NOW) == expected


async def test_a_clock_that_was_ahead_once_does_not_stop_the_job(
    api: Caller, client: Client, log: Log, logged: Any
) -> None:
    """An attempt of the job got its token from a clock a day fast; everybody goes on from there."""
    ahead = token(datetime.now(UTC) + timedelta(days=1))
    async with serving(client, api.queue, logged):
        carry = Carry.fresh().model_copy(update={"record": Record(token_floor=ahead)}).compact()
        handle = await client.start_workflow(
            "Job",
            args=[{"kind": "logged", "queue": api.queue, "retry": NO_WAIT | {"max_attempts": 2}}, carry],
            id=f"ahead-{api.queue}",
            task_queue="duetime",
        )
        await log.began(1)
        running = await api.until(handle.id, "running")
        assert running["lease"]["fencing_token"] == ahead + 1
        assert running["attempts"][0]["fencing_token"] == ahead + 1
        log.ends.put_nowait(ValueError("1"))
        log.ends.put_nowait(ValueError("2"))
        await api.final(handle.id)
        assert (await api.command(handle.id, "retry")).status_code == 200
        await log.began(3)
        await api.submit("logged", id=handle.id, on_conflict="replace")
        await log.began(4)
        log.ends.put_nowait(None)
        log.ends.put_nowait(None)
        await api.final(handle.id)
    assert log.tokens == [ahead + 1, ahead + 2, ahead + 3, ahead + 4]


async def test_dispatch_times_have_the_servers_full_resolution(
    jobs: Jobs, client: Client, logged: Any, log: Log
) -> None:
    """Nanoseconds on the server, of which tokens keep the microseconds: no second is shared by accident."""
    async with serving(client, jobs.queue, logged):
        handles = [await jobs.start("logged") for _ in range(8)]
        await asyncio.gather(*map(held, handles))
        stamps = [
            (await handle.describe()).raw_description.pending_activities[0].last_started_time.nanos
            for handle in handles
        ]
        for _ in handles:
            log.ends.put_nowait(None)
        await asyncio.gather(*map(outcome_of, handles))
    assert len(set(stamps)) == len(stamps)
    assert any(stamp % 1000 for stamp in stamps), "finer than a microsecond"
