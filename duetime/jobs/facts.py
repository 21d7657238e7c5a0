"""Facts of one job, fetched from the Temporal server: its execution now, its first event, and its last."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import (
    EventType,
    HistoryEventFilterType,
    PendingActivityState,
    PendingWorkflowTaskState,
)
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryRequest,
)
from temporalio.client import Client, WorkflowExecutionStatus

from duetime import attributes
from duetime.contracts import limits
from duetime.contracts.carry import Carry
from duetime.contracts.instants import parse_instant
from duetime.contracts.job import JOB, JobSpec
from duetime.contracts.record import (
    DEPENDENTS,
    IDEMPOTENCY,
    VIEW,
    Ending,
    Error,
    Record,
    Sign,
    View,
    cut,
    read_sign,
)
from duetime.jobs.names import PREDECESSORS, QUEUE_PAUSES
from duetime.jobs.undecided import undecided
from duetime.jobs.wire import decode, decode_all, instant, when

_HELD = {
    PendingActivityState.PENDING_ACTIVITY_STATE_STARTED,
    PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
    PendingActivityState.PENDING_ACTIVITY_STATE_PAUSE_REQUESTED,
}


_ATTRIBUTES = (attributes.OUTCOME.name, attributes.SCHEDULE_ID.name, attributes.NOMINAL_TIME.name)

#: Started, a decision (3), an activity (3).
_EVENTS_OF_AN_ATTEMPT = 7

Model = TypeVar("Model", bound=BaseModel)


class NotAJob(LookupError):
    """No execution under this id, or one of another type."""


@dataclass(frozen=True)
class Dispatched:
    """The activity under way: waiting for a worker, held by one, or waiting for its retry."""

    activity_id: str
    held: bool
    server_attempt: int
    maximum_attempts: int
    scheduled_at: datetime | None
    started_at: datetime | None
    heartbeat_at: datetime | None
    next_attempt_at: datetime | None
    worker: str
    sign: Sign | None
    last_failure: Error | None
    #: Somebody paused this one activity through Temporal.
    paused: bool = False


@dataclass(frozen=True)
class Decision:
    """A workflow task under way, since when some worker has it, and which try it is."""

    taken_at: datetime | None
    tries: int


@dataclass(frozen=True)
class Known:
    """What a history knows of the last attempt of one activity."""

    worker: str
    started_at: datetime
    #: Which try of the server's it was, and how the one before it failed.
    tries: int = 1
    last_failure: Error | None = None


@dataclass(frozen=True)
class Facts:
    """One job as the server knows it."""

    id: str
    run_id: str
    status: WorkflowExecutionStatus
    started_at: datetime
    execution_at: datetime
    closed_at: datetime | None
    spec: JobSpec | None = None
    #: The input, which is no job when somebody started the workflow by hand with something else.
    raw_input: Any = None
    view: View | None = None
    key_hashes: dict[str, str] = field(default_factory=dict)
    outcome: str | None = None
    #: What made it, and the time that its rule named.
    schedule_id: str | None = None
    nominal_time: datetime | None = None
    #: Jobs that wait for this one.
    dependents: list[str] = field(default_factory=list)
    #: Whether it waits for other jobs.
    waiting: bool = False
    first_run_id: str = ""
    dispatched: Dispatched | None = None
    ending: Ending | None = None
    error: Error | None = None
    #: Its queue was paused while it waited there, and the workflow asks for how long.
    asks_for_pauses: bool = False
    #: What the workflow is to decide next.
    decision: Decision | None = None
    #: Events of its history.
    events: int = 0
    #: From the history, by dispatch: who ran an attempt that nobody else took down.
    known: Mapping[str, Known] = field(default_factory=dict)
    #: All attempts, with one that has ended and that the workflow has not heard of yet.
    undecided: Record | None = None

    #: What an earlier run handed to this one.
    carry: Carry = field(default_factory=Carry.fresh)

    @property
    def idempotency_key(self) -> str:
        """The key that handlers get, the same in all attempts and redrives."""
        return self.carry.idempotency_key or f"{self.id}:{self.first_run_id}"

    @property
    def is_open(self) -> bool:
        return self.status is WorkflowExecutionStatus.RUNNING


async def fetch(client: Client, job_id: str, run_id: str = "") -> Facts:
    """The facts of the newest run of a job, or of the one named; `NotAJob` when there is none."""
    execution = WorkflowExecution(workflow_id=job_id, run_id=run_id)
    described = await client.workflow_service.describe_workflow_execution(
        DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=execution), retry=True
    )
    info = described.workflow_execution_info
    if info.type.name != JOB:
        raise NotAJob(job_id)
    execution = info.execution
    is_open = WorkflowExecutionStatus(info.status) is WorkflowExecutionStatus.RUNNING
    first, last = await asyncio.gather(
        history_event(client, execution),
        history_event(client, execution, close=True) if not is_open else _nothing(),
    )
    facts = await _read(client, described, first, last)
    if facts.is_open and facts.dispatched is None and facts.decision is not None and facts.spec is not None:
        record = facts.view.record if facts.view else facts.carry.record
        if facts.events >= _EVENTS_OF_AN_ATTEMPT:
            return replace(facts, undecided=await undecided(client, execution, record, facts.spec.retry))
    return facts


async def glance(client: Client, job_id: str, run_id: str) -> Facts:
    """The facts of one run but for its input and its ending: enough for its state, and one call instead of two."""
    execution = WorkflowExecution(workflow_id=job_id, run_id=run_id)
    described = await client.workflow_service.describe_workflow_execution(
        DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=execution), retry=True
    )
    return await _read(client, described, None, None)


async def with_input(client: Client, facts: Facts) -> Facts:
    """The facts of a glance, and what the job was started with: one more call, for when its state hangs on that."""
    execution = WorkflowExecution(workflow_id=facts.id, run_id=facts.run_id)
    given = await _given(client, await history_event(client, execution))
    return replace(
        facts, spec=given.spec, carry=given.carry, raw_input=given.raw, first_run_id=given.first_run_id
    )


async def _nothing() -> None:
    return None


async def history_event(
    client: Client, execution: WorkflowExecution, close: bool = False
) -> HistoryEvent | None:
    """The first event of a history, or its closing one."""
    filters = HistoryEventFilterType
    response = await client.workflow_service.get_workflow_execution_history(
        GetWorkflowExecutionHistoryRequest(
            namespace=client.namespace,
            execution=execution,
            maximum_page_size=1,
            history_event_filter_type=(
                filters.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
                if close
                else filters.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
            ),
        ),
        retry=True,
    )
    events = response.history.events  # a page is one batch at least, however small it was asked for
    return (events[-1] if close else events[0]) if events else None


async def _read(
    client: Client,
    described: DescribeWorkflowExecutionResponse,
    first: HistoryEvent | None,
    last: HistoryEvent | None,
) -> Facts:
    info = described.workflow_execution_info
    memo = {name: await decode(client, payload) for name, payload in info.memo.fields.items()}
    closed = info.HasField("close_time")  # The server goes on to list the activities of a closed one.
    pending = [found for found in described.pending_activities if found.activity_id.isdigit() and not closed]
    given = await _given(client, first)
    ending, error = await _ending(client, last)
    indexed = {
        name: await decode(client, info.search_attributes.indexed_fields[name])
        for name in _ATTRIBUTES
        if name in info.search_attributes.indexed_fields
    }
    nominal = indexed.get(attributes.NOMINAL_TIME.name)
    return Facts(
        id=info.execution.workflow_id,
        run_id=info.execution.run_id,
        status=WorkflowExecutionStatus(info.status),
        started_at=instant(info.start_time),
        execution_at=instant(info.execution_time),
        closed_at=when(info, "close_time"),
        spec=given.spec,
        carry=given.carry,
        raw_input=given.raw,
        view=_lenient(View, memo.get(VIEW)),
        key_hashes=key_hashes(memo.get(IDEMPOTENCY)),
        outcome=indexed.get(attributes.OUTCOME.name),
        schedule_id=indexed.get(attributes.SCHEDULE_ID.name),
        nominal_time=parse_instant(nominal) if nominal else None,
        dependents=_ids(memo.get(DEPENDENTS)),
        waiting=any(found.activity_type.name == PREDECESSORS for found in described.pending_activities),
        asks_for_pauses=any(
            found.activity_type.name == QUEUE_PAUSES for found in described.pending_activities
        ),
        decision=_decision(described),
        events=info.history_length,
        first_run_id=given.first_run_id,
        dispatched=await _dispatched(client, pending[0]) if pending else None,
        ending=ending,
        error=error,
    )


@dataclass(frozen=True)
class _Given:
    """What a run was started with."""

    spec: JobSpec | None = None
    raw: Any = None
    carry: Carry = field(default_factory=Carry.fresh)
    first_run_id: str = ""


async def _given(client: Client, first: HistoryEvent | None) -> _Given:
    if first is None:
        return _Given()
    started = first.workflow_execution_started_event_attributes
    values = [await decode(client, payload) for payload in started.input.payloads[:2]]
    raw = values[0] if values else None
    carry = _lenient(Carry, values[1]) if len(values) > 1 else None
    return _Given(_lenient(JobSpec, raw), raw, carry or Carry.fresh(), started.first_execution_run_id)


def _lenient(model: type[Model], value: Any) -> Model | None:
    """What Duetime wrote, read back; `None` for what somebody else left in its place."""
    try:
        return model.model_validate(value)
    except ValidationError:
        return None


def key_hashes(value: Any) -> dict[str, str]:
    """What a memo has of an Idempotency-Key."""
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _ids(value: Any) -> list[str]:
    return [job_id for job_id in value if isinstance(job_id, str)] if isinstance(value, list) else []


async def _dispatched(client: Client, pending: PendingActivityInfo) -> Dispatched:
    failure = pending.last_failure if pending.HasField("last_failure") else None
    return Dispatched(
        activity_id=pending.activity_id,
        held=pending.state in _HELD,
        server_attempt=pending.attempt,
        maximum_attempts=pending.maximum_attempts,
        scheduled_at=when(pending, "scheduled_time"),
        started_at=when(pending, "last_started_time"),
        heartbeat_at=when(pending, "last_heartbeat_time"),
        next_attempt_at=when(pending, "next_attempt_schedule_time"),
        worker=pending.last_worker_identity,
        sign=read_sign(await decode_all(client, pending.heartbeat_details)),
        last_failure=failure_text(failure) if failure else None,
        paused=pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED,
    )


def _decision(described: DescribeWorkflowExecutionResponse) -> Decision | None:
    if not described.HasField("pending_workflow_task"):
        return None
    task = described.pending_workflow_task
    taken = task.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED
    return Decision(when(task, "started_time") if taken else None, task.attempt)


def failure_text(failure: Failure) -> Error:
    """A failure of the engine, of safe length."""
    kind = failure.application_failure_info.type or "Error"
    return Error(
        type=cut(kind, limits.ERROR_TYPE_LENGTH), message=cut(failure.message, limits.ERROR_MESSAGE_LENGTH)
    )


async def _ending(client: Client, event: HistoryEvent | None) -> tuple[Ending | None, Error | None]:
    if event is None:
        return None, None
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
            result = event.workflow_execution_completed_event_attributes.result
            return _as_ending(await decode_all(client, result)), None
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
            failure = event.workflow_execution_failed_event_attributes.failure
            details = await decode_all(client, failure.application_failure_info.details)
            return _as_ending(details), failure_text(failure)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
            ended = event.workflow_execution_terminated_event_attributes
            reason = ended.reason or "terminated"
            return _as_ending(await decode_all(client, ended.details)), Error(
                type="Cancelled", message=reason
            )
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
            message = "the workflow's own run or execution timeout ended it"
            return None, Error(type="WorkflowTimeout", message=message)
    return None, None


def _as_ending(values: list[Any]) -> Ending | None:
    if values and isinstance(values[0], dict) and "result" in values[0]:
        return _lenient(Ending, values[0]) or Ending(result=values[0]["result"])
    return None


async def error_of(client: Client, job_id: str, run_id: str) -> Error | None:
    """Why a run that has ended did not succeed."""
    closing = await history_event(client, WorkflowExecution(workflow_id=job_id, run_id=run_id), close=True)
    _, error = await _ending(client, closing)
    return error


async def started_with(client: Client, workflow_id: str) -> list[Any]:
    """The input of the newest run of any workflow, as JSON values."""
    first = await history_event(client, WorkflowExecution(workflow_id=workflow_id))
    found = first.workflow_execution_started_event_attributes.input if first else None
    return await decode_all(client, found) if found else []
