"""Handlers for pipelines: one with a schema, and one whose failures a test decides."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from duetime import Job, Reject, handler


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: int


class Typed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rows: list[int]
    inner: Inner


@handler("typed")
async def TYPED(payload: Typed, job: Job) -> None:
    """Takes what its model says."""


class Plan:
    """What the jobs of a pipeline do, and how often each has run: by the last part of their ids."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.ran: list[str] = []

    def handler(self, kind: str) -> Any:
        """A handler of this kind that goes by the plan."""

        @handler(kind, retry={"max_attempts": 1})
        async def step(payload: dict[str, Any], job: Job) -> dict[str, str]:
            name = job.id.rpartition("~")[2]
            self.ran.append(name)
            if name in self.failing:
                raise Reject(f"{name} was to fail")
            return {"by": name}

        return step
