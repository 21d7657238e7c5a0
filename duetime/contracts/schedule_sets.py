"""Many schedules as one desired state: what is asked for, and what differs."""

from typing import Annotated, Any

from pydantic import Field

from duetime.contracts import limits
from duetime.contracts.job import Contract
from duetime.contracts.problem import ProblemView
from duetime.contracts.schedule import ScheduleId, ScheduleSpec
from duetime.contracts.view import Answer


class NamedSchedule(ScheduleSpec):
    """A schedule with its id."""

    id: ScheduleId

    def spec(self) -> dict[str, Any]:
        """The schedule without its id, as it was given."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"id"})


class ScheduleSet(Contract):
    """All schedules that there are to be. Nothing that is not named is touched, unless `prune` is set."""

    schedules: Annotated[list[NamedSchedule], Field(max_length=limits.APPLIED_SCHEDULES)]
    prune: bool = Field(False, strict=True, description="delete the schedules that are not in the list")
    dry_run: bool = Field(False, strict=True, description="say what would be done, and do nothing")


class FieldChange(Answer):
    """One field of a schedule that differs. A field that is not given is null, whatever its default."""

    pointer: str = Field(description="a JSON pointer (RFC 6901) into the schedule")
    before: Any = Field(None, alias="from")
    after: Any = Field(None, alias="to")


class ChangedSchedule(Answer):
    """A schedule that is there and differs."""

    id: str
    changes: list[FieldChange]


class FailedSchedule(Answer):
    """A schedule that was refused; the others were dealt with all the same."""

    id: str
    problem: ProblemView


class AppliedView(Answer):
    """What was done, or with `dry_run` would be."""

    dry_run: bool
    created: list[str]
    changed: list[ChangedSchedule]
    unchanged: list[str]
    pruned: list[str]
    failed: list[FailedSchedule]
    left: list[str] = Field(description="not reached in the time of one call: repeat it, which is safe")
