"""What a job's workflow is told, beside the job: by its own earlier run, and by callers."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from duetime.contracts import limits
from duetime.contracts.instants import parse_instant
from duetime.contracts.record import Part, Record

Priority = Annotated[int, Field(strict=True, ge=limits.PRIORITY[0], le=limits.PRIORITY[1])]


class Carry(Part):
    """State handed from one run of the workflow to the next, as its second argument."""

    #: Tells it from whatever else somebody gives as a second argument.
    protocol: Literal[1] = Field(alias="$duetime")
    due_at: AwareDatetime | None = None
    priority: Priority | None = None
    record: Record = Record()
    dispatches: Annotated[int, Field(ge=0)] = 0
    unhandled: Annotated[int, Field(ge=0)] = 0
    #: Since when it has waited for a worker that has a handler for it, where `queue_timeout` bounds that.
    queued_since: AwareDatetime | None = None
    idempotency_key: str | None = None
    #: Whether the jobs named in `after` have succeeded already.
    ordered: bool = False
    dependents: list[str] = Field(default_factory=list)
    ready_at: AwareDatetime | None = None
    #: How often it asked for a place under a concurrency limit; since when the attempt that asks wants to run; and when
    #: the job was accepted, in milliseconds since 1970.
    asks: Annotated[int, Field(ge=0)] = 0
    turn_at: AwareDatetime | None = None
    limit_at: int | None = None
    #: What made the job, where its search attributes do not say so.
    schedule_id: str | None = None
    pipeline_id: str | None = None
    #: The run that this one redrives.
    redrive_of: str | None = None

    @classmethod
    def fresh(cls) -> "Carry":
        """What the first run of a job has."""
        return cls.model_validate({"$duetime": 1})

    def compact(self) -> dict[str, Any]:
        """As JSON without defaults."""
        return {"$duetime": 1} | self.model_dump(mode="json", exclude_defaults=True, exclude={"protocol"})


class StopRequest(Part):
    """How to cancel: the time a running handler gets to clean up, why, and the attempts as the caller saw them."""

    grace: Annotated[timedelta, Field(ge=timedelta(0), le=limits.LONGEST_CLOCK)] = timedelta(seconds=30)
    reason: str | None = None
    seen: Record = Record()


def _an_instant(text: str) -> str:
    parse_instant(text)
    return text


class Change(Part):
    """What `PATCH` may change of a job that has not begun. `run_at` is RFC 3339 with an offset."""

    run_at: Annotated[str, AfterValidator(_an_instant)] | None = None
    priority: Priority | None = None

    @model_validator(mode="after")
    def _something(self) -> "Change":
        if self.run_at is None and self.priority is None:
            raise ValueError("nothing to change: give `run_at` or `priority`")
        return self
