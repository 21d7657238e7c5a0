"""What a rule will do, asked before anything is kept."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from duetime.contracts import limits
from duetime.contracts.job import JobId
from duetime.contracts.rule import RuleFields

Tag = Literal["dst_gap", "dst_repeat", "excluded"]


class PreviewRequest(RuleFields):
    """A rule, and how much of it to see."""

    id: JobId | None = Field(None, description="the schedule's id, which `H` is chosen by")
    start: str | None = Field(
        None,
        alias="from",
        description="the first instant to look at, itself included: RFC 3339 with an offset, or a wall time of the "
        "rule's `timezone`; now when left out",
    )
    n: Annotated[int, Field(strict=True, ge=1, le=limits.PREVIEWED_FIRES)] = Field(
        10, description="how many due times"
    )


class FireView(BaseModel):
    """One due time."""

    utc: str = Field(description="RFC 3339 in UTC")
    local: str = Field(description="the same instant on the clocks of the rule's zone, with their offset")
    tags: list[Tag] = Field(
        description="`dst_gap`: stands for a time that the clocks skip; `dst_repeat`: a wall time that comes twice; "
        "`excluded`: does not fire"
    )


class PreviewView(BaseModel):
    """The next due times of a rule, and the excluded ones between them."""

    timezone: str
    fires: list[FireView]
    ends: bool = Field(description="nothing is due after the last of `fires`")
    in_words: str
    warnings: list[str]
    time_zone_database: str = Field(description="the release of the IANA database in use")
