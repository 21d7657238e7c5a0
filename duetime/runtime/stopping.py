"""Why a handler is stopped before its end."""

from enum import Enum, auto

from temporalio import activity


class Stop(Enum):
    """The reasons, the strongest last: a later one replaces an earlier one."""

    #: The worker shuts down; the attempt is given back.
    SHUTDOWN = auto()
    #: Paused or reset through Temporal; the server decides when it goes on.
    TAKEN_BACK = auto()
    #: Somebody cancelled the job; the handler may clean up for a grace.
    CANCELLED = auto()
    #: Longer than its `timeout`.
    TIMED_OUT = auto()
    #: The lease is lost, or the job is over: whatever the handler does now, nobody takes it.
    LOST = auto()


def reason_of(details: activity.ActivityCancellationDetails | None) -> Stop:
    """The reason behind a cancellation that the SDK delivered."""
    if details is None or details.not_found or details.timed_out:
        return Stop.LOST
    if details.cancel_requested:
        return Stop.CANCELLED
    if details.paused or details.reset:
        return Stop.TAKEN_BACK
    return Stop.SHUTDOWN if details.worker_shutdown else Stop.LOST
