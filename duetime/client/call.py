"""One call of the API as a value: what is sent, and whether it may be sent again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from typing import Any
from urllib.parse import quote

Query = Mapping[str, str | Sequence[str]]


class Repeat(Enum):
    """When a call may be sent again."""

    #: Done twice is done once: reading, cancelling, submitting under a key.
    ALWAYS = auto()
    #: Done twice is not done once: only when the first was certainly not carried out.
    IF_NOT_DONE = auto()


@dataclass(frozen=True)
class Call:
    """`wait` is how long the API may hold the call on purpose, on top of the time that any call may take.

    `notes` go to the transport and not over the wire: see `duetime.client.waiting`.
    """

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: Any = None
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: Repeat = Repeat.ALWAYS
    wait: timedelta = timedelta(0)
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def job_path(job_id: str, rest: str = "") -> str:
    """The path of a job. Whatever an id holds, it stays one step of the path."""
    return f"/v1/jobs/{_step(job_id)}{rest}"


def pipeline_path(pipeline_id: str, rest: str = "") -> str:
    """The path of a pipeline."""
    return f"/v1/pipelines/{_step(pipeline_id)}{rest}"


def schedule_path(schedule_id: str, rest: str = "") -> str:
    """The path of a schedule. Whatever an id holds, it stays one step of the path."""
    return f"/v1/schedules/{_step(schedule_id)}{rest}"


def occurrence_path(schedule_id: str, nominal_time: str, rest: str = "") -> str:
    """The path of one time of a schedule."""
    return schedule_path(schedule_id, f"/occurrences/{_step(nominal_time)}{rest}")


def _step(name: str) -> str:
    # A lone surrogate (an argument that is no text) becomes bytes that nothing is known by, and no error of Python's.
    step = quote(name, safe=":~", errors="surrogatepass")
    return step.replace(".", "%2E") if step.strip(".") == "" else step
