"""What callers select pipelines by."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from api.jobs import query
from api.jobs.filters import Moment, States
from duetime import attributes
from duetime.contracts import limits
from duetime.contracts.instants import format_instant
from duetime.contracts.job import JobId
from duetime.contracts.pipeline import PIPELINE
from duetime.contracts.states import FINAL, OPEN, State


class PipelineFilter(BaseModel):
    """Which pipelines; everything given must hold."""

    model_config = ConfigDict(frozen=True)

    state: States = Field([], description="any of these states: comma-separated, or given more than once")
    schedule_id: JobId | None = Field(None, description="made by this schedule")
    created_after: Moment | None = Field(
        None, description="created at this instant or later: RFC 3339 with an offset"
    )
    created_before: Moment | None = Field(
        None, description="created before this instant: RFC 3339 with an offset"
    )

    @property
    def open_states(self) -> frozenset[State]:
        """The states wanted of open pipelines. The index knows no more of one than that it is open."""
        return OPEN if OPEN & set(self.state or State) else frozenset()

    @property
    def final_states(self) -> frozenset[State]:
        """The states wanted of finished pipelines."""
        return FINAL & set(self.state or State)

    @property
    def among(self) -> str:
        """The query but for the states."""
        return query.all_of(
            f"WorkflowType = {query.literal(PIPELINE)}",
            f"{attributes.SCHEDULE_ID.name} = {query.literal(self.schedule_id)}" if self.schedule_id else "",
            f"StartTime >= {query.moment(self.created_after)}" if self.created_after else "",
            f"StartTime < {query.moment(self.created_before)}" if self.created_before else "",
        )

    def holds(self, state: State) -> bool:
        """Whether a pipeline in this state is wanted."""
        return not self.state or state in self.state

    def canonical(self) -> str:
        """One text for filters that mean the same, another for all others."""
        told = [at and format_instant(at) for at in (self.created_after, self.created_before)]
        return repr(["pipelines", [str(state) for state in self.state], self.schedule_id, told])


class PipelineQuery(PipelineFilter):
    """The parameters of a list."""

    limit: Annotated[int, Field(ge=1, le=limits.PAGE_JOBS, description="pipelines on a page, at most")] = 50
    cursor: str | None = Field(
        None, max_length=4096, description="`next_cursor` of the page before, with the same filter"
    )
