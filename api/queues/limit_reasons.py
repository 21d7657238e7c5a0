"""Why a job waits for a place under a concurrency limit, and what a person can do: pure functions."""

from collections.abc import Iterator, Mapping
from typing import Any

from duetime.contracts.concurrency import Line, scope_of
from duetime.contracts.job import JobSpec
from duetime.contracts.record import View
from duetime.contracts.states import OPEN, State
from duetime.contracts.why import Blocked, OtherJob, Reason

_SUGGESTED = 3


def limit_reason(
    spec: JobSpec, view: View, line: Line | None, holders: Mapping[str, State | None]
) -> Blocked | None:
    """What its limit has to do with it; `None` when it has its place by now. `holders` are those that may be seen."""
    scope, name = scope_of(view.limits[-1])
    if line is not None and (line.has_place or line.limit is None):
        return None
    limit = line.limit if line else spec.concurrency.limit if spec.concurrency and scope == "key" else None
    whose = f"concurrency key {name!r}" if scope == "key" else f"queue `{name}`"
    places = "" if limit is None else f": at most {limit:,} at once"
    detail = f"it waits for a place of {whose}{places}"
    if line is not None and line.position is not None:
        have = "has a place" if line.held == 1 else "have a place"
        detail += f"; number {line.position:,} of {line.waiting:,} in the line, {line.held:,} {have}"
    return Blocked(
        reason=Reason.CONCURRENCY_LIMIT,
        detail=detail,
        since=view.limited_at,
        key=name if scope == "key" else None,
        queue=name if scope == "queue" else None,
        limit=limit,
        held=line.held if line else None,
        holders=[OtherJob(id=job_id, state=state) for job_id, state in holders.items() if state is not None],
        position=line.position if line else None,
        in_line=line.waiting if line else None,
    )


def limit_suggestions(blocked: Blocked, job_path: str, priority: int) -> Iterator[dict[str, Any]]:
    """Calls that bring it nearer to a place, or tell what keeps those who have one."""
    for holder in (blocked.holders or [])[:_SUGGESTED]:
        if holder.state in OPEN:
            yield {
                "action": "look",
                "detail": f"see what {holder.id!r} does, which has a place",
                "method": "GET",
                "path": f"/v1/jobs/{holder.id}/why",
            }
    if blocked.queue is not None:
        path = f"/v1/queues/{blocked.queue}/concurrency"
        if blocked.limit is not None:
            body = {"limit": min(2 * blocked.limit, 1000), "reason": "more at once"}
            detail = f"let more jobs of queue `{blocked.queue}` run at once"
            yield {"action": "raise_limit", "detail": detail, "method": "PUT", "path": path, "body": body}
        detail = f"take the limit of queue `{blocked.queue}` away"
        yield {"action": "lift_limit", "detail": detail, "method": "DELETE", "path": path}
    if priority > 1:
        yield {
            "action": "raise_priority",
            "detail": "let it go first",
            "method": "PATCH",
            "path": job_path,
            "body": {"priority": 1},
        }
