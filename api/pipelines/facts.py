"""Facts of one pipeline, fetched from the Temporal server: its execution, and what its workflow keeps in the memo."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
)
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from duetime import attributes
from duetime.contracts.instants import parse_instant
from duetime.contracts.pipeline import PIPELINE, PipelineSpec
from duetime.contracts.pipeline_state import FAULTS, PROGRESS, Mark, Progress
from duetime.contracts.record import IDEMPOTENCY, Error
from duetime.jobs.facts import failure_text, history_event, key_hashes
from duetime.jobs.wire import decode, decode_all, instant, when
from workflows.pipeline_input import PipelineCarry


class NotAPipeline(LookupError):
    """No execution under this id, or one of another type, or of input that is no pipeline."""


@dataclass(frozen=True)
class PipelineFacts:
    """One pipeline as the server knows it."""

    id: str
    #: Of the newest run.
    run_id: str
    status: WorkflowExecutionStatus
    #: When it was submitted or redriven: runs in which it only goes on do not count.
    started_at: datetime
    closed_at: datetime | None
    spec: PipelineSpec
    #: What a worker has said of it; `None` while none has looked at it.
    progress: Progress | None = None
    #: Errors of jobs that came to no execution of their own.
    faults: Mapping[str, Error] = field(default_factory=dict)
    key_hashes: dict[str, str] = field(default_factory=dict)
    outcome: str | None = None
    schedule_id: str | None = None
    nominal_time: datetime | None = None
    error: Error | None = None
    #: What the run was told by the one that it goes on from, or redrives.
    carry: PipelineCarry = field(default_factory=PipelineCarry)
    first_run_id: str = ""

    @property
    def is_open(self) -> bool:
        return self.status is WorkflowExecutionStatus.RUNNING

    @property
    def marks(self) -> dict[str, Mark]:
        """How each job stands, by name. Before a worker has looked at a redrive, all that it keeps stands as it did."""
        return (self.progress or Progress(marks=self.carry.marks)).by_name(list(self.spec.jobs))


async def fetch_pipeline(client: Client, pipeline_id: str) -> PipelineFacts:
    """The facts of its newest run; `NotAPipeline` when there is none."""
    described = await client.workflow_service.describe_workflow_execution(
        DescribeWorkflowExecutionRequest(
            namespace=client.namespace, execution=WorkflowExecution(workflow_id=pipeline_id)
        ),
        retry=True,
    )
    info = described.workflow_execution_info
    if info.type.name != PIPELINE:
        raise NotAPipeline(pipeline_id)
    closed = info.HasField("close_time")
    first, last = await asyncio.gather(
        history_event(client, info.execution),
        history_event(client, info.execution, close=True) if closed else _nothing(),
    )
    if first is None:
        raise NotAPipeline(pipeline_id)
    return await _read(client, described, first, last)


async def _nothing() -> None:
    return None


async def _read(
    client: Client,
    described: DescribeWorkflowExecutionResponse,
    first: HistoryEvent,
    last: HistoryEvent | None,
) -> PipelineFacts:
    info = described.workflow_execution_info
    memo = {name: await decode(client, payload) for name, payload in info.memo.fields.items()}
    started = first.workflow_execution_started_event_attributes
    inputs = await decode_all(client, started.input)
    try:
        spec = PipelineSpec.model_validate(inputs[0] if inputs else None)
    except ValidationError:
        raise NotAPipeline(info.execution.workflow_id) from None
    indexed = {
        key.name: str(await decode(client, info.search_attributes.indexed_fields[key.name]))
        for key in (attributes.OUTCOME, attributes.SCHEDULE_ID, attributes.NOMINAL_TIME)
        if key.name in info.search_attributes.indexed_fields
    }
    nominal = indexed.get(attributes.NOMINAL_TIME.name)
    return PipelineFacts(
        id=info.execution.workflow_id,
        run_id=info.execution.run_id,
        status=WorkflowExecutionStatus(info.status),
        started_at=await _began(client, info.execution, started.first_execution_run_id)
        or instant(info.start_time),
        closed_at=when(info, "close_time"),
        spec=spec,
        progress=_progress(memo.get(PROGRESS)),
        faults=_faults(memo.get(FAULTS)),
        key_hashes=key_hashes(memo.get(IDEMPOTENCY)),
        outcome=indexed.get(attributes.OUTCOME.name),
        schedule_id=indexed.get(attributes.SCHEDULE_ID.name),
        nominal_time=parse_instant(nominal) if nominal else None,
        error=_error(last),
        carry=_carry(inputs[1]) if len(inputs) > 1 else PipelineCarry(),
        first_run_id=started.first_execution_run_id or info.execution.run_id,
    )


async def _began(client: Client, execution: WorkflowExecution, first_run_id: str) -> datetime | None:
    """When the first of the runs began that go on in this one; `None` when it is this one, or forgotten."""
    if first_run_id in ("", execution.run_id):
        return None
    first = WorkflowExecution(workflow_id=execution.workflow_id, run_id=first_run_id)
    try:
        described = await client.workflow_service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=first), retry=True
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return instant(described.workflow_execution_info.start_time)


def _carry(value: Any) -> PipelineCarry:
    try:
        return PipelineCarry.model_validate(value)
    except ValidationError:
        return PipelineCarry()


def _progress(value: Any) -> Progress | None:
    try:
        return Progress.model_validate(value)
    except ValidationError:
        return None


def _faults(value: Any) -> dict[str, Error]:
    found = {}
    for name, told in (value if isinstance(value, dict) else {}).items():
        try:
            found[name] = Error.model_validate(told)
        except ValidationError:
            continue
    return found


def _error(event: HistoryEvent | None) -> Error | None:
    if event is None:
        return None
    match event.WhichOneof("attributes"):
        case "workflow_execution_failed_event_attributes":
            return failure_text(event.workflow_execution_failed_event_attributes.failure)
        case "workflow_execution_terminated_event_attributes":
            reason = event.workflow_execution_terminated_event_attributes.reason
            return Error(type="Cancelled", message=reason or "terminated")
        case "workflow_execution_timed_out_event_attributes":
            return Error(
                type="WorkflowTimeout", message="the workflow's own run or execution timeout ended it"
            )
    return None
