"""An operation as callers see it: from its execution and its memo, without asking any worker."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from pydantic import AwareDatetime, Field, ValidationError
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import Client, WorkflowExecutionStatus

from api.security.caller import Caller
from duetime.contracts.bulk import (
    ASKED,
    ENDED,
    KEPT,
    STANDING,
    OperationState,
    Standing,
)
from duetime.contracts.operations import (
    CountsView,
    FaultView,
    JobRefView,
    OperationLinks,
    OperationView,
)
from duetime.contracts.record import Part
from duetime.contracts.view import ErrorGroupView
from duetime.jobs.wire import decode, instant, when

_ENDED_BY_FORCE = {
    WorkflowExecutionStatus.TERMINATED: OperationState.STOPPED,
    WorkflowExecutionStatus.CANCELED: OperationState.STOPPED,
    WorkflowExecutionStatus.FAILED: OperationState.FAILED,
    WorkflowExecutionStatus.TIMED_OUT: OperationState.FAILED,
}


class Asked(Part):
    """Who asked for an operation: the bounds of their key are those of the jobs in it."""

    by: str = ""
    queues: list[str] | None = None
    kinds: list[str] | None = None
    #: Hashes of the Idempotency-Key and of what came with it.
    key: dict[str, str] = Field(default_factory=dict)
    at: AwareDatetime | None = None

    @classmethod
    def of(cls, caller: Caller, by: str, key: Mapping[str, str]) -> "Asked":
        return cls(
            by=by,
            queues=sorted(caller.queues) if caller.queues is not None else None,
            kinds=sorted(caller.kinds) if caller.kinds is not None else None,
            key=dict(key),
            at=datetime.now(UTC),
        )

    def is_for(self, caller: Caller) -> bool:
        """Whether the caller may see all the jobs that can be in it."""
        return _inside(self.queues, caller.queues) and _inside(self.kinds, caller.kinds)


def _inside(bounds: list[str] | None, allowed: frozenset[str] | None) -> bool:
    return allowed is None or (bounds is not None and set(bounds) <= allowed)


class Known(Part):
    """An operation as the server knows it."""

    id: str
    asked: Asked
    standing: Standing
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    async def of(cls, client: Client, info: WorkflowExecutionInfo) -> "Known":
        memo = {name: await decode(client, payload) for name, payload in info.memo.fields.items()}
        asked = _lenient(Asked, memo.get(ASKED))
        standing = _lenient(Standing, memo.get(STANDING))
        status = WorkflowExecutionStatus(info.status)
        if standing.state not in ENDED and status in _ENDED_BY_FORCE:
            changes = {"state": _ENDED_BY_FORCE[status], "reason": f"its workflow was {status.name.lower()}"}
            standing = standing.model_copy(update=changes)
        return cls(
            id=info.execution.workflow_id,
            asked=asked,
            standing=standing,
            created_at=asked.at or instant(info.start_time),
            finished_at=when(info, "close_time"),
        )

    @property
    def is_over(self) -> bool:
        return self.standing.state in ENDED


def _lenient(model: Any, value: Any) -> Any:
    try:
        return model.model_validate(value if isinstance(value, dict) else {})
    except ValidationError:
        return model()


def view_of(known: Known, ui_url: str, namespace: str) -> OperationView:
    """The operation as it is answered."""
    standing, place = known.standing, quote(known.id, safe=":~")
    tally = standing.tally
    left = standing.total - tally.total
    frozen_at = standing.frozen_at if standing.state is OperationState.FROZEN else None
    return OperationView(
        id=known.id,
        action=standing.action,
        state=standing.state,
        filter=standing.filter,
        dry_run=standing.dry_run,
        by=known.asked.by,
        rate=standing.rate,
        canary=standing.canary,
        created_at=known.created_at,
        finished_at=known.finished_at,
        kept_until=frozen_at + KEPT if frozen_at else None,
        total=standing.total,
        counts=CountsView(
            done=tally.done, skipped=sum(tally.skipped.values()), failed=tally.failed, left=left
        ),
        skipped_because=dict(tally.skipped),
        errors=[ErrorGroupView.model_validate(group.model_dump()) for group in standing.errors],
        errors_of=standing.looked_at,
        sample=[JobRefView.model_validate(job.model_dump()) for job in standing.sample],
        faults=[FaultView.model_validate(fault.model_dump()) for fault in tally.faults],
        lost=[FaultView.model_validate(fault.model_dump()) for fault in standing.lost],
        reason=standing.reason,
        remaining=None if known.is_over else timedelta(seconds=round(left / standing.rate, 1)),
        links=OperationLinks(
            self=f"/v1/operations/{place}", temporal=f"{ui_url}/namespaces/{namespace}/workflows/{place}"
        ),
    )
