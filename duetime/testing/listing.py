"""Lists and counts of the fake's jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from duetime.contracts.explain import Fault
from duetime.contracts.instants import parse_instant
from duetime.contracts.limits import PAGE_JOBS
from duetime.contracts.states import State
from duetime.contracts.view import ErrorGroupView, JobCounts, JobPage, JobSummary, JobView
from duetime.errors import invalid_field

_MANY = ("state", "tag")
_ONE = ("kind", "queue", "schedule_id", "pipeline_id", "created_after", "created_before")
_PAGE = 50

Query = Mapping[str, Sequence[str]]


def select(jobs: Iterable[JobView], query: Query, also: Sequence[str] = ()) -> list[JobView]:
    """The jobs that the filters hold, as a list has them: open ones first, the newest first; then the last closed.

    `jobs` are in the order of their submission.
    """
    unknown: list[Fault] = [
        {"pointer": f"query {name}", "message": "unknown parameter"}
        for name in query
        if name not in (*_MANY, *_ONE, *also)
    ]
    if unknown:
        raise invalid_field(unknown)
    states = _states(query)
    after, before = _instant(query, "created_after"), _instant(query, "created_before")
    found = [
        job
        for job in reversed(list(jobs))
        if (not states or job.state in states)
        and set(query.get("tag", ())) <= set(job.tags)
        and all(getattr(job, name) == query[name][0] for name in _ONE[:4] if name in query)
        and (after is None or job.created_at >= after)
        and (before is None or job.created_at < before)
    ]
    opened = [job for job in found if job.finished_at is None]
    closed = [job for job in found if job.finished_at is not None]
    opened.sort(key=lambda job: job.created_at, reverse=True)
    closed.sort(key=lambda job: job.finished_at or job.created_at, reverse=True)
    return opened + closed


def page(jobs: Iterable[JobView], query: Query) -> JobPage:
    """One page. The cursor is the id of the last job told: the real one is opaque."""
    found = select(jobs, query, ("limit", "cursor"))
    limit = _limit(query)
    ids = [job.id for job in found]
    begin = 0
    if "cursor" in query:
        cursor = query["cursor"][0]
        if cursor not in ids:
            raise invalid_field([{"pointer": "query cursor", "message": "is no cursor of this list"}])
        begin = ids.index(cursor) + 1
    told = found[begin : begin + limit]
    more = begin + limit < len(found)
    return JobPage(jobs=[JobSummary.of(job) for job in told], next_cursor=told[-1].id if more else None)


def count(jobs: Iterable[JobView], query: Query) -> JobCounts:
    """How many, in all, by state, or of failed ones by type of error."""
    found = select(jobs, query, ("by",))
    if unknown := set(query.get("by", ())) - {"state", "error"}:
        message = f"{min(unknown)!r} is nothing to count by; known are state, error"
        raise invalid_field([{"pointer": "query by", "message": message}])
    if "error" in query.get("by", ()):
        return _by_error(found, _states(query))
    by_state: dict[State, int] | None = None
    if "by" in query:
        counted = Counter(job.state for job in found)
        asked = _states(query) or set(State)
        by_state = {state: counted[state] for state in State if state in asked}
    return JobCounts(total=len(found), states=by_state)


def _by_error(found: Iterable[JobView], asked: set[State]) -> JobCounts:
    ended = {State.FAILED, State.EXPIRED}
    if asked - ended:
        message = "counts by error are of jobs in the states failed and expired: ask for these"
        raise invalid_field([{"pointer": "query state", "message": message}])
    failed = [job for job in found if job.state in ended]
    groups: dict[str, ErrorGroupView] = {}
    for job in failed:
        kind, message = (job.error.type, job.error.message) if job.error else ("(unknown)", "")
        group = groups.setdefault(kind, ErrorGroupView(type=kind, count=0, example=job.id, message=message))
        group.count += 1
    ranked = sorted(groups.values(), key=lambda group: (-group.count, group.type))
    return JobCounts(total=len(failed), errors=ranked)


def _limit(query: Query) -> int:
    told = query["limit"][0] if "limit" in query else str(_PAGE)
    if not (len(told) < 9 and told.isascii() and told.isdecimal() and 1 <= int(told) <= PAGE_JOBS):
        raise invalid_field([{"pointer": "query limit", "message": f"must be from 1 to {PAGE_JOBS}"}])
    return int(told)


def _states(query: Query) -> set[State]:
    return {_state(name) for value in query.get("state", ()) for name in value.split(",")}


def _state(name: str) -> State:
    try:
        return State(name.strip())
    except ValueError:
        known = ", ".join(State)
        message = f"{name!r} is no state; known are {known}"
        raise invalid_field([{"pointer": "query state", "message": message}]) from None


def _instant(query: Query, name: str) -> datetime | None:
    if name not in query:
        return None
    try:
        return parse_instant(query[name][0])
    except ValueError as error:
        raise invalid_field([{"pointer": f"query {name}", "message": str(error)}]) from None
