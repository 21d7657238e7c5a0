"""Which one bucket an open job is in, and since when it could have run: pure functions of what is known of it."""

from datetime import datetime
from enum import StrEnum

from duetime.contracts.states import State
from duetime.jobs.facts import Facts
from duetime.jobs.state import due_at, state_of


class Bucket(StrEnum):
    """Where open jobs are. Every open job is in exactly one; a job's state `queued` is four of these."""

    #: Due in the future.
    SCHEDULED = "scheduled"
    #: Due, held by the jobs named in `after`.
    WAITING = "waiting"
    #: Due, and not in its queue yet: its workflow has still to put it there.
    OVERDUE = "overdue"
    #: Due, waiting for a place under a concurrency limit.
    LIMITED = "limited"
    #: In its queue, for any worker to take.
    QUEUED = "queued"
    #: In its queue, which is paused; or paused by itself, through Temporal.
    PAUSED = "paused"
    #: An attempt holds the lease.
    RUNNING = "running"
    #: The next attempt is due in the future.
    RETRYING = "retrying"


#: Jobs that nothing of their own keeps from running.
READY = (Bucket.OVERDUE, Bucket.QUEUED, Bucket.PAUSED)

_BY_STATE = {
    State.SCHEDULED: Bucket.SCHEDULED,
    State.WAITING: Bucket.WAITING,
    State.RUNNING: Bucket.RUNNING,
    State.RETRYING: Bucket.RETRYING,
}


def bucket_of(facts: Facts, now: datetime, queue_is_paused: bool) -> Bucket:
    """The bucket of an open job."""
    state = state_of(facts, now)
    if state is not State.QUEUED:
        return _BY_STATE[state]
    if facts.dispatched is None and not facts.asks_for_pauses:
        return Bucket.LIMITED if facts.view is not None and facts.view.limits else Bucket.OVERDUE
    by_itself = facts.dispatched is not None and facts.dispatched.paused
    return Bucket.PAUSED if by_itself or queue_is_paused else Bucket.QUEUED


def ready_at(facts: Facts) -> datetime:
    """The first moment at which this attempt of a job in one of `READY` could have run."""
    due, view, dispatched = due_at(facts), facts.view, facts.dispatched
    if view is not None and view.limited_at is not None and dispatched is None:
        return max(due, view.limited_at)
    if view is not None and view.next_attempt_at is not None:
        return max(due, view.next_attempt_at)
    if dispatched is not None and dispatched.server_attempt > 1 and dispatched.scheduled_at is not None:
        return max(due, dispatched.scheduled_at)  # the server times its own retries
    return max(due, view.ready_at) if view is not None and view.ready_at is not None else due
