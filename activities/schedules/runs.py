"""The runs of a schedule, from the search index: a moment behind, and for as long as the server remembers them."""

from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from duetime import attributes
from duetime.contracts.instants import format_instant
from duetime.contracts.job import JOB
from duetime.contracts.pipeline import PIPELINE
from duetime.contracts.schedule_book import Server
from duetime.contracts.states import State
from duetime.schedules.ids import nominal_of
from duetime.schedules.missed import Run

_SECOND = timedelta(seconds=1)
_STATES = {
    WorkflowExecutionStatus.COMPLETED: State.SUCCEEDED,
    WorkflowExecutionStatus.FAILED: State.FAILED,
    WorkflowExecutionStatus.CANCELED: State.CANCELLED,
    WorkflowExecutionStatus.TERMINATED: State.CANCELLED,
    WorkflowExecutionStatus.TIMED_OUT: State.EXPIRED,
}


def of_schedule(schedule_id: str) -> str:
    """The query for all runs of a schedule, jobs of a pipeline not being such; its id holds no sign that the server
    would take for another."""
    schedule, pipeline = attributes.SCHEDULE_ID.name, attributes.PIPELINE_ID.name
    return (
        f"WorkflowType IN ('{JOB}', '{PIPELINE}') AND {schedule} = '{schedule_id}' AND {pipeline} IS NULL"
        " AND ExecutionStatus != 'ContinuedAsNew'"
    )


async def runs_between(client: Client, schedule_id: str, since: datetime, until: datetime) -> list[Run]:
    """Runs of nominal times in the span, and those that were open in it."""
    # A second more: SQLite compares instants as text, of which the same one has more than one.
    first, last = f"'{format_instant(since - _SECOND)}'", f"'{format_instant(until + _SECOND)}'"
    nominal = attributes.NOMINAL_TIME.name
    query = (
        f"{of_schedule(schedule_id)} AND (({nominal} >= {first} AND {nominal} <= {last}) OR"
        f" (StartTime <= {last} AND (CloseTime >= {first} OR ExecutionStatus = 'Running')))"
    )
    return [run_of(found) async for found in client.list_workflows(query)]


def with_recent(runs: list[Run], server: Server, schedule_id: str) -> list[Run]:
    """The runs of the index, and those that the server has just started and the index does not know yet."""
    known = {run.job_id for run in runs}
    return runs + [
        Run(
            job_id=one.id,
            nominal=nominal_of(one.id, schedule_id),
            started_at=one.at,
            closed_at=None if one.id in server.running else one.at,
            state=State.RUNNING,
        )
        for one in server.recent
        if one.id not in known
    ]


async def last_runs(client: Client, schedule_id: str, count: int, condition: str = "") -> list[Run]:
    """The last runs, open ones first."""
    query = of_schedule(schedule_id) + (f" AND {condition}" if condition else "")
    return [run_of(found) async for found in client.list_workflows(query, limit=count, page_size=count)]


def run_of(found: WorkflowExecution) -> Run:
    """A run as the index tells it."""
    outcome = found.typed_search_attributes.get(attributes.OUTCOME)
    state = _STATES.get(found.status, State.RUNNING) if found.status else State.RUNNING
    return Run(
        job_id=found.id,
        nominal=_whole(found.typed_search_attributes.get(attributes.NOMINAL_TIME)),
        started_at=found.start_time.astimezone(UTC),
        closed_at=found.close_time.astimezone(UTC) if found.close_time else None,
        state=State(outcome) if outcome in set(State) else state,
        is_pipeline=found.workflow_type == PIPELINE,
    )


def _whole(at: datetime | None) -> datetime | None:
    return at.astimezone(UTC).replace(microsecond=0) if at is not None else None
