"""What a job's workflow is told, beside the job: by its own earlier run, and by callers."""

from datetime import datetime, timedelta

from pydantic import Field

from duetime.contracts import limits
from duetime.contracts.record import Part, Record


class Carry(Part):
    """State handed from one run of the workflow to the next."""

    due_at: datetime | None = None
    priority: int | None = None
    record: Record = Record()
    dispatches: int = 0
    unhandled: int = 0
    idempotency_key: str | None = None


class StopRequest(Part):
    """How to cancel: the time a running handler gets to clean up, why, and the attempts as the caller saw them."""

    grace: timedelta = timedelta(seconds=30)
    reason: str | None = None
    seen: Record = Record()


class Change(Part):
    """What `PATCH` may change of a job that has not begun. `run_at` is RFC 3339 with an offset."""

    run_at: str | None = None
    priority: int | None = Field(None, ge=limits.PRIORITY[0], le=limits.PRIORITY[1])
