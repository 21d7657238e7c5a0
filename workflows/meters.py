"""What workflows count: ends of jobs, and attempts that the server took back. Silent while a history replays."""

from temporalio import workflow

from duetime.contracts.record import Record
from duetime.contracts.states import AttemptOutcome, State
from duetime.decisions import How
from duetime.observe import names


def count_end(kind: str, queue: str, state: State) -> None:
    """A job came to its end."""
    labels = {"kind": kind, "queue": queue, "outcome": state.value}
    meter = workflow.metric_meter()
    meter.create_counter(names.JOBS_FINISHED.name, names.JOBS_FINISHED.help).add(1, labels)


def count_attempt(kind: str, queue: str, how: How, record: Record) -> None:
    """An attempt ended that its worker could not count: its lease was lost, or the server ended it by its timeout."""
    outcome = record.attempts[-1].outcome if record.attempts else None
    lost = outcome is AttemptOutcome.LEASE_LOST
    if not lost and (how is not How.TIMED_OUT or outcome is not AttemptOutcome.TIMED_OUT):
        return
    meter, labels = workflow.metric_meter(), {"kind": kind, "queue": queue}
    ended = labels | {"outcome": str(outcome)}
    meter.create_counter(names.ATTEMPTS.name, names.ATTEMPTS.help).add(1, ended)
    if lost:
        meter.create_counter(names.LEASES_LOST.name, names.LEASES_LOST.help).add(1, labels)
