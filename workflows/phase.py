"""Where a job's workflow is, and what cuts it short."""

from enum import Enum, auto


class Phase(Enum):
    """What the workflow does now; callers may change a job in some of these."""

    WAITING_FOR_DUE = auto()
    BACKING_OFF = auto()
    #: Due, under a concurrency limit that has no free place.
    WAITING_FOR_PLACE = auto()
    DISPATCHED = auto()
    ENDING = auto()


class DeadlineExceeded(Exception):
    """The job's deadline has passed."""
