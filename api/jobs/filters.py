"""What callers select jobs by: validated as data of its kind, so that nothing else ever reaches a query."""

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from duetime.contracts import limits
from duetime.contracts.instants import format_instant, parse_instant
from duetime.contracts.job import JobId, Kind, Queue, Tag
from duetime.contracts.states import FINAL, OPEN, State


def split_states(values: Any) -> Any:
    """States come comma-separated, as a repeated parameter, or both."""
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return [name.strip() for value in values for name in value.split(",")]
    return values


def _instant(value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    # A bare `+` in a query arrives as a space; before an offset nothing else can have been meant.
    return parse_instant(re.sub(r" (\d\d:\d\d)$", r"+\1", value) if isinstance(value, str) else value)


def some_states(states: list[State]) -> list[State]:
    return sorted(set(states))


States = Annotated[list[State], BeforeValidator(split_states), AfterValidator(some_states)]
Tags = Annotated[list[Tag], Field(max_length=limits.TAGS)]
Moment = Annotated[datetime, BeforeValidator(_instant, json_schema_input_type=str)]


class JobFilter(BaseModel):
    """Which jobs; everything given must hold."""

    model_config = ConfigDict(frozen=True)

    state: States = Field([], description="any of these states: comma-separated, or given more than once")
    kind: Kind | None = Field(None, description="of this kind")
    queue: Queue | None = Field(None, description="on this queue")
    tag: Tags = Field([], description="carries this tag; given more than once, all of them")
    schedule_id: JobId | None = Field(None, description="made by this schedule")
    pipeline_id: JobId | None = Field(None, description="part of this pipeline")
    created_after: Moment | None = Field(
        None, description="created at this instant or later: RFC 3339 with an offset"
    )
    created_before: Moment | None = Field(
        None, description="created before this instant: RFC 3339 with an offset"
    )

    @property
    def open_states(self) -> frozenset[State]:
        """The states wanted of open jobs."""
        return OPEN & set(self.state or State)

    @property
    def final_states(self) -> frozenset[State]:
        """The states wanted of finished jobs."""
        return FINAL & set(self.state or State)

    @property
    def takes_every_open_job(self) -> bool:
        """Whether no open job needs its state looked at to know if it is wanted."""
        return self.open_states == OPEN

    def canonical(self) -> str:
        """One text for filters that mean the same, another for all others."""
        told = [
            [str(state) for state in self.state],
            [self.kind, self.queue, sorted(set(self.tag)), self.schedule_id, self.pipeline_id],
            [at and format_instant(at) for at in (self.created_after, self.created_before)],
        ]
        return repr(told)
