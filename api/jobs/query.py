"""The text of queries to the search index.

Values are of types that cannot hold signs which a store of the server might misread (names, ids, instants, and tags in
the spelling of the index), and the one place that writes them, `duetime.jobs.literal`, refuses all others.
"""

from collections.abc import Iterable
from datetime import datetime

from temporalio.common import SearchAttributeKey

from api.jobs.filters import JobFilter
from duetime import attributes
from duetime.contracts.instants import format_instant
from duetime.contracts.job import JOB
from duetime.contracts.states import FINAL, State
from duetime.jobs.literal import literal as literal
from duetime.tags import index_tag


def moment(at: datetime) -> str:
    return literal(format_instant(at))


def all_of(*conditions: str) -> str:
    """All that are not empty."""
    return " AND ".join(f"({condition})" for condition in conditions if condition)


def any_of(*conditions: str) -> str:
    """At least one, which takes one that can hold."""
    return " OR ".join(f"({condition})" for condition in conditions if condition)


def _equals(key: SearchAttributeKey, value: str | None) -> str:  # type: ignore[type-arg]
    return f"{key.name} = {literal(value)}" if value is not None else ""


def within(key: SearchAttributeKey, allowed: Iterable[str]) -> str:  # type: ignore[type-arg]
    return f"{key.name} IN ({', '.join(literal(value) for value in sorted(allowed))})"


def without(key: SearchAttributeKey, names: Iterable[str]) -> str:  # type: ignore[type-arg]
    """Those that have another value; not those that have none."""
    return f"{key.name} NOT IN ({', '.join(literal(name) for name in sorted(names))})"


#: A run that went on as another is no job of its own.
NOT_CONTINUED = "ExecutionStatus != 'ContinuedAsNew'"
CONTINUED = "ExecutionStatus = 'ContinuedAsNew'"
RUNNING = "ExecutionStatus = 'Running'"

#: Final states of failed executions that only the outcome tells.
BY_OUTCOME = frozenset({State.EXPIRED, State.SKIPPED})
_FAILED = "ExecutionStatus = 'Failed'"
_STATUSES = {
    State.SUCCEEDED: "ExecutionStatus = 'Completed'",
    State.CANCELLED: "ExecutionStatus IN ('Canceled', 'Terminated')",
    State.EXPIRED: "ExecutionStatus = 'TimedOut'",
}


def jobs(wanted: JobFilter) -> str:
    """The filter but for its states."""
    return all_of(
        f"WorkflowType = {literal(JOB)}",
        _equals(attributes.KIND, wanted.kind),
        _equals(attributes.QUEUE, wanted.queue),
        *(_equals(attributes.TAGS, index_tag(tag)) for tag in wanted.tag),
        _equals(attributes.SCHEDULE_ID, wanted.schedule_id),
        _equals(attributes.PIPELINE_ID, wanted.pipeline_id),
        f"StartTime >= {moment(wanted.created_after)}" if wanted.created_after else "",
        f"StartTime < {moment(wanted.created_before)}" if wanted.created_before else "",
    )


def finished(states: Iterable[State]) -> str:
    """Finished jobs in any of these final states, as `state_of` tells them from status and outcome."""
    wanted = set(states)
    if wanted == FINAL:
        return "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
    return any_of(*(_finished(state) for state in sorted(wanted)))


def _finished(state: State) -> str:
    if state in BY_OUTCOME:
        return any_of(_STATUSES.get(state, ""), ended_as(state))
    if state is not State.FAILED:
        return _STATUSES[state]
    others = ", ".join(literal(other) for other in sorted(BY_OUTCOME))
    outcome = attributes.OUTCOME.name
    return all_of(_FAILED, any_of(f"{outcome} IS NULL", f"{outcome} NOT IN ({others})"))


def ended_as(state: State) -> str:
    """Failed executions whose outcome says that the job is in this state."""
    return all_of(_FAILED, f"{attributes.OUTCOME.name} = {literal(state)}")


def open_in(states: frozenset[State], now: datetime) -> str:
    """Open jobs that may be in one of these states; which one they are in takes a look at each.

    The index knows one thing, whether they are due. A job that was started without the API, and has not run yet, has
    no due time there.
    """
    due_at = attributes.DUE_AT.name
    if states == {State.SCHEDULED}:
        return all_of(RUNNING, any_of(f"{due_at} > {moment(now)}", f"{due_at} IS NULL"))
    if State.SCHEDULED not in states:
        return due(now)
    return RUNNING


def due(now: datetime) -> str:
    """Open jobs that are due, or may be."""
    due_at = attributes.DUE_AT.name
    return all_of(RUNNING, any_of(f"{due_at} <= {moment(now)}", f"{due_at} IS NULL"))


def scheduled(now: datetime) -> str:
    """Open jobs that are due later, by the index alone."""
    return all_of(RUNNING, f"{attributes.DUE_AT.name} > {moment(now)}")


def no_due_time() -> str:
    """Open jobs that have not been indexed yet."""
    return all_of(RUNNING, f"{attributes.DUE_AT.name} IS NULL")
