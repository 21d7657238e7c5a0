"""The search index: a line for each run of a job, a moment behind the executions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import SearchAttributeKey

from api.jobs.query import all_of, within
from api.security.caller import ANYBODY, Caller
from duetime import attributes
from duetime.contracts.instants import parse_instant
from duetime.jobs.facts import Facts
from duetime.jobs.wire import instant, when
from duetime.tags import read_tags

#: Lines that the server gives at most in one answer (`frontend.visibilityMaxPageSize`).
MOST = 1000


@dataclass(frozen=True)
class Row:
    """What the index knows of one run."""

    id: str
    run_id: str
    status: WorkflowExecutionStatus
    started_at: datetime
    execution_at: datetime
    closed_at: datetime | None
    kind: str | None = None
    queue: str | None = None
    fairness_key: str | None = None
    outcome: str | None = None
    #: `None` when the index does not tell them all.
    tags: tuple[str, ...] | None = None
    due_at: datetime | None = None
    schedule_id: str | None = None
    nominal_time: datetime | None = None
    pipeline_id: str | None = None
    memo: Mapping[str, Payload] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.status is WorkflowExecutionStatus.RUNNING

    @property
    def is_told(self) -> bool:
        """Whether the index tells all that a list says of the job: it is finished, and was indexed whole."""
        finished = self.closed_at is not None and self.status is not WorkflowExecutionStatus.CONTINUED_AS_NEW
        return finished and None not in (self.kind, self.queue, self.tags)

    def facts(self) -> Facts:
        """What is known of the job without reading it."""
        return Facts(
            id=self.id,
            run_id=self.run_id,
            status=self.status,
            started_at=self.started_at,
            execution_at=self.execution_at,
            closed_at=self.closed_at,
            outcome=self.outcome,
        )


class Index:
    """Asks the index for what `caller` may see: every question carries the caller's bounds."""

    def __init__(self, client: Client, caller: Caller = ANYBODY) -> None:
        self._client = client
        #: Conditions that every question carries.
        self.bounds = [
            within(key, allowed)
            for key, allowed in ((attributes.QUEUE, caller.queues), (attributes.KIND, caller.kinds))
            if allowed is not None
        ]

    def seen_by(self, caller: Caller) -> "Index":
        """The same for another caller."""
        return Index(self._client, caller)

    async def rows(self, query: str, size: int, token: bytes = b"") -> tuple[list[Row], bytes]:
        """Up to `size` lines in the index's order, and where to go on: open runs by their start, the newest first, then
        the others by their end, the last first; equal ones by run id."""
        answer = await self._client.workflow_service.list_workflow_executions(
            ListWorkflowExecutionsRequest(
                namespace=self._client.namespace,
                query=self._bounded(query),
                page_size=min(size, MOST),
                next_page_token=token,
            ),
            retry=True,
        )
        return [_row(info) for info in answer.executions], answer.next_page_token

    async def count(self, query: str) -> int:
        return (await self._client.count_workflows(self._bounded(query))).count

    async def count_by_status(self, query: str) -> Mapping[str, int]:
        """How many by the name of their execution status (`Running`, `Completed` …)."""
        counted = await self._client.count_workflows(f"{self._bounded(query)} GROUP BY ExecutionStatus")
        return {str(group.group_values[0]): group.count for group in counted.groups}

    def _bounded(self, query: str) -> str:
        return all_of(query, *self.bounds)


def _row(info: WorkflowExecutionInfo) -> Row:
    found = info.search_attributes.indexed_fields
    tags = _value(found, attributes.TAGS)
    due_at = _text(found, attributes.DUE_AT)
    nominal = _text(found, attributes.NOMINAL_TIME)
    known = attributes.KIND.name in found
    return Row(
        id=info.execution.workflow_id,
        run_id=info.execution.run_id,
        status=WorkflowExecutionStatus(info.status),
        started_at=instant(info.start_time),
        execution_at=instant(info.execution_time),
        closed_at=when(info, "close_time"),
        kind=_text(found, attributes.KIND),
        queue=_text(found, attributes.QUEUE),
        fairness_key=_text(found, attributes.FAIRNESS_KEY),
        outcome=_text(found, attributes.OUTCOME),
        tags=_tags(tags) if tags is not None else () if known else None,
        due_at=parse_instant(due_at) if due_at else None,
        schedule_id=_text(found, attributes.SCHEDULE_ID),
        nominal_time=parse_instant(nominal) if nominal else None,
        pipeline_id=_text(found, attributes.PIPELINE_ID),
        memo=dict(info.memo.fields),
    )


def _value(found: Mapping[str, Payload], key: SearchAttributeKey[Any]) -> Any:
    return json.loads(found[key.name].data) if key.name in found and found[key.name].data else None


def _text(found: Mapping[str, Payload], key: SearchAttributeKey[Any]) -> str | None:
    value = _value(found, key)
    return value if isinstance(value, str) else None


def _tags(value: Any) -> tuple[str, ...] | None:
    read = read_tags([value] if isinstance(value, str) else value)
    return tuple(read) if read is not None else None
