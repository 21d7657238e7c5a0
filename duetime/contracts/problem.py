"""Errors as they are answered: RFC 9457 `application/problem+json`."""

from typing import Any

from pydantic import BaseModel, ConfigDict

#: Every `type` of ours begins with this.
PROBLEM_TYPE = "urn:duetime:problem:"


class FaultView(BaseModel):
    """One bad field; `pointer` is RFC 6901 into the body, or names a header or parameter."""

    model_config = ConfigDict(extra="ignore")

    pointer: str = ""
    message: str
    #: Of a cron line: the character at fault, counted from 1.
    column: int | None = None


class ProblemView(BaseModel):
    """What went wrong, and the way out. Members beyond these (`job`, `state`, `reason`) are kept as they came."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str = ""
    status: int
    detail: str = ""
    errors: list[FaultView] = []

    @property
    def name(self) -> str:
        """The stable last part of `type`, such as `id-in-use`."""
        return self.type.removeprefix(PROBLEM_TYPE)

    def member(self, name: str) -> Any:
        """A member beyond those of every problem; `None` when there is none."""
        return (self.model_extra or {}).get(name)
