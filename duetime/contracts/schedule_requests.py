"""What callers ask of a schedule that is there."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from duetime.contracts.instants import parse_instant
from duetime.contracts.job import Contract
from duetime.contracts.json_value import JsonValueError
from duetime.contracts.queues import Reason, Who
from duetime.contracts.schedule import Overlap


def _instant(text: str | None) -> str | None:
    if text is not None:
        parse_instant(text)
    return text


class SchedulePause(Contract):
    """Why no more runs start, who says so, and until when; without `until` it lasts until somebody resumes it."""

    reason: Reason
    by: Who | None = None
    until: str | None = Field(None, description="RFC 3339 with an offset", examples=["2027-01-15T09:00:00Z"])

    _checked = field_validator("until")(_instant)


class ScheduleResume(Contract):
    """Who resumes it, and what becomes of the times that the pause kept from running: by default nothing."""

    by: Who | None = None
    missed: Literal["leave", "run"] = Field(
        "leave", description="`run` makes them up, as a backfill over the pause would"
    )


class ScheduleTrigger(Contract):
    """A run now, beside the rule. It meets other runs by the schedule's own `overlap` unless another one is given."""

    by: Who | None = None
    overlap: Overlap | None = None


class ScheduleBackfill(Contract):
    """Runs for the times of the rule from `from` to `to`, both included, that have none which succeeded."""

    begin: str = Field(alias="from", description="RFC 3339 with an offset", examples=["2027-01-01T00:00:00Z"])
    end: str = Field(alias="to", description="RFC 3339 with an offset, not in the future")
    overlap: Literal["queue_all", "allow"] | None = Field(
        None,
        description="one after the other, or some at once; by default `allow` when the schedule's own overlap is",
    )
    dry_run: bool = Field(False, strict=True, description="say what would run, and start nothing")
    force: bool = Field(False, strict=True, description="also times that have a run which succeeded")
    by: Who | None = None

    _checked = field_validator("begin", "end")(_instant)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if parse_instant(self.end) < parse_instant(self.begin):
            raise JsonValueError("/to", "is before `from`")
        return self


class ScheduleSkip(Contract):
    """Who leaves one time out, and why."""

    by: Who | None = None
    reason: Reason | None = None
