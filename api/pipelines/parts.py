"""The jobs of a pipeline as their own executions tell them, read as far as time allows.

What has ended does not change any more in this run of the pipeline, so it is read once and remembered: a pipeline that
is polled costs what is under way.
"""

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
)
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from api.patience import time_left
from api.pipelines.facts import PipelineFacts
from api.problems import is_unknown_id
from api.together import together
from duetime.contracts.pipeline import FAN_OUT, job_id, part_id
from duetime.contracts.pipeline_state import FINAL_MARKS, ITEMS, ItemCounts, Mark
from duetime.contracts.pipeline_view import ItemsView
from duetime.contracts.record import Error
from duetime.contracts.states import FINAL, State
from duetime.contracts.view import ErrorView, Links
from duetime.jobs.facts import Facts, NotAJob, failure_text, fetch, history_event
from duetime.jobs.state import record_of, state_of, view_of
from duetime.jobs.wire import decode, instant, when

#: Executions read at the same time, over all pipelines that an API instance is asked for.
_AT_ONCE = 32
#: The part of the time left to a call that reading what has ended may take.
_SHARE = 0.6
_REMEMBERED = 20_000
#: Marks of jobs that have an execution in this run of the pipeline, or in the one that it redrives.
_WITH_EXECUTION = frozenset({Mark.BEGUN, Mark.SUCCEEDED, Mark.FAILED, Mark.CANCELLED, Mark.EXPIRED})


@dataclass(frozen=True)
class Part:
    """One job as its execution tells it."""

    state: State
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempt: int | None = None
    items: ItemsView | None = None
    error: ErrorView | None = None


class Parts:
    """Reads them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._ended: OrderedDict[tuple[str, str, Mark], Part] = OrderedDict()

    async def read(self, facts: PipelineFacts) -> dict[str, Part]:
        """What is known of the jobs that have an execution: of all under way, and of those that have ended, the failed
        ones first, unless that takes too long."""
        found: dict[str, Part] = {}
        under_way, ended = [], []
        for name, mark in facts.marks.items():
            known = self._ended.get((job_id(facts.id, name), facts.run_id, mark))
            if known is not None:
                found[name] = known
            elif mark is Mark.BEGUN:
                under_way.append(name)
            elif mark in _WITH_EXECUTION:
                ended.append((name, mark))

        async def read(name: str, mark: Mark) -> None:
            async with self._places:
                part = await self._part(facts, name, mark)
            if part is not None:
                found[name] = part
                if mark in FINAL_MARKS and part.state in FINAL:
                    self._remember((job_id(facts.id, name), facts.run_id, mark), part)

        await together(read(name, Mark.BEGUN) for name in under_way)
        # The rest is answered as the pipeline itself tells it; whoever asks again is told more.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(time_left() * _SHARE):
                await together(read(name, mark) for name, mark in sorted(ended, key=_urgency))
        return found

    def _remember(self, key: tuple[str, str, Mark], part: Part) -> None:
        self._ended[key] = part
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)

    async def _part(self, pipeline: PipelineFacts, name: str, mark: Mark) -> Part | None:
        """One job; `None` when there is no execution of it, or only one of an earlier run that is to be repeated."""
        fans_out = pipeline.spec.jobs[name].for_each is not None
        execution_id = job_id(pipeline.id, name)
        try:
            part, began = await (self._fan_out(execution_id) if fans_out else self._job(execution_id))
        except NotAJob:
            return None
        except RPCError as error:
            if is_unknown_id(error):
                return None
            raise
        return None if mark is Mark.BEGUN and began < pipeline.started_at else part

    async def _job(self, execution_id: str) -> tuple[Part, datetime]:
        facts = await fetch(self._client, execution_id)
        return _as_part(facts), facts.started_at

    async def _fan_out(self, fan_out_id: str) -> tuple[Part, datetime]:
        described, counts = await self._counted(fan_out_id)
        info = described.workflow_execution_info
        status = WorkflowExecutionStatus(info.status)
        began = instant(info.start_time)
        if counts is not None and counts.parts and status is WorkflowExecutionStatus.RUNNING:
            counts = await self._sum(fan_out_id, counts, began)
        error = None
        if status is WorkflowExecutionStatus.FAILED:
            last = await history_event(self._client, info.execution, close=True)
            if last is not None and last.HasField("workflow_execution_failed_event_attributes"):
                error = failure_text(last.workflow_execution_failed_event_attributes.failure)
        part = Part(
            state=_fan_out_state(status, counts),
            started_at=began,
            ended_at=when(info, "close_time"),
            items=_items(counts) if counts else None,
            error=_error_view(error),
        )
        return part, began

    async def _counted(self, fan_out_id: str) -> tuple[DescribeWorkflowExecutionResponse, ItemCounts | None]:
        """A job with items, or a part of one, and what it has counted."""
        described = await self._client.workflow_service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(
                namespace=self._client.namespace, execution=WorkflowExecution(workflow_id=fan_out_id)
            ),
            retry=True,
        )
        info = described.workflow_execution_info
        if info.type.name != FAN_OUT:
            raise NotAJob(fan_out_id)
        memo = info.memo.fields
        return described, _counts(await decode(self._client, memo[ITEMS])) if ITEMS in memo else None

    async def _sum(self, fan_out_id: str, counts: ItemCounts, began: datetime) -> ItemCounts:
        """The counts of all its parts; what has not begun since has counted nothing yet."""

        async def one(part: int) -> ItemCounts:
            try:
                described, its = await self._counted(part_id(fan_out_id, part))
            except NotAJob:
                return ItemCounts()
            except RPCError as error:
                if is_unknown_id(error):
                    return ItemCounts()
                raise
            started = instant(described.workflow_execution_info.start_time)
            return its if its is not None and started >= began else ItemCounts()

        told = ItemCounts()
        for its in await together(one(part) for part in range(counts.parts)):
            told = told.plus(its)
        return told.model_copy(update={"total": counts.total})


def _urgency(wanted: tuple[str, Mark]) -> int:
    order = (Mark.FAILED, Mark.EXPIRED, Mark.CANCELLED)
    return {mark: rank for rank, mark in enumerate(order)}.get(wanted[1], len(Mark))


def _as_part(facts: Facts) -> Part:
    now = datetime.now(UTC)
    state = state_of(facts, now)
    record = record_of(facts)
    started = next((attempt.started_at for attempt in record.attempts if attempt.started_at), None)
    error = view_of(facts, now, Links(self="", temporal="")).error
    return Part(
        state=state,
        started_at=started,
        ended_at=facts.closed_at,
        attempt=record.used,
        error=error.model_copy(update={"stack": None}) if error else None,
    )


def _counts(value: object) -> ItemCounts | None:
    try:
        return ItemCounts.model_validate(value)
    except ValidationError:
        return None


def _items(counts: ItemCounts) -> ItemsView:
    return ItemsView(total=counts.total, done=counts.done, running=counts.running, failed=counts.bad)


def _fan_out_state(status: WorkflowExecutionStatus, counts: ItemCounts | None) -> State:
    match status:
        case WorkflowExecutionStatus.COMPLETED:
            return State.SUCCEEDED
        case WorkflowExecutionStatus.FAILED:
            return State.FAILED
        case WorkflowExecutionStatus.CANCELED | WorkflowExecutionStatus.TERMINATED:
            return State.CANCELLED
        case WorkflowExecutionStatus.TIMED_OUT:
            return State.EXPIRED
    return State.RUNNING if counts and counts.running else State.QUEUED


def _error_view(error: Error | None) -> ErrorView | None:
    return ErrorView.model_validate(error.model_dump(exclude={"stack"})) if error else None
