"""A job as it is answered: what `GET /v1/jobs/{id}` gives, exact at the moment of reading."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from duetime.contracts.instants import format_instant
from duetime.contracts.job import Span
from duetime.contracts.states import AttemptOutcome, State

Instant = Annotated[
    datetime,
    PlainSerializer(format_instant, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class Answer(BaseModel):
    """A part of an answer; a reader leaves fields that it does not know."""

    model_config = ConfigDict(extra="ignore")


class ErrorView(Answer):
    """Why a job or an attempt failed: `type` is the exception's name, or one of Duetime's own."""

    type: str
    message: str
    stack: str | None = None


class AttemptView(Answer):
    """One try of the handler. Fields that nobody could take down are null."""

    number: int
    fencing_token: int | None = None
    worker: str | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    outcome: AttemptOutcome
    error: ErrorView | None = None


class LeaseView(Answer):
    """Who owns the running attempt, and until when if no further sign of life comes."""

    worker: str
    fencing_token: int
    acquired_at: Instant
    expires_at: Instant


class ProgressView(Answer):
    """How far the handler says it is."""

    done: float
    total: float | None = None
    message: str | None = None
    at: Instant | None = None


class Links(Answer):
    """Where to read on."""

    self: str
    temporal: str


class JobView(Answer):
    """A job with its state, its attempts and what came of it."""

    id: str
    run_id: str
    kind: str
    queue: str
    state: State
    payload: dict[str, Any] = {}
    tags: list[str] = []
    priority: int = 3
    created_at: Instant
    due_at: Instant
    started_at: Instant | None = None
    finished_at: Instant | None = None
    late_by: Span | None = None
    attempt: int = 0
    max_attempts: int
    next_attempt_at: Instant | None = None
    lease: LeaseView | None = None
    attempts: list[AttemptView] = []
    progress: ProgressView | None = None
    checkpoint: Any = None
    result: Any = None
    error: ErrorView | None = None
    schedule_id: str | None = None
    pipeline_id: str | None = None
    nominal_time: Instant | None = None
    warnings: list[str] = []
    links: Links


class JobSummary(Answer):
    """A job in a list: all but its payload, its result, its checkpoint and the record of its attempts.

    Open jobs are read one by one and are exact. Finished ones are told by the search index alone, which does not know
    `priority`, `started_at`, `late_by`, `attempt`, `max_attempts`, `progress` and `error`: those are null then.
    """

    id: str
    run_id: str
    kind: str
    queue: str
    state: State
    tags: list[str] = []
    priority: int | None = None
    created_at: Instant
    due_at: Instant
    started_at: Instant | None = None
    finished_at: Instant | None = None
    late_by: Span | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    next_attempt_at: Instant | None = None
    lease: LeaseView | None = None
    progress: ProgressView | None = None
    #: Without its stack.
    error: ErrorView | None = None
    schedule_id: str | None = None
    pipeline_id: str | None = None
    nominal_time: Instant | None = None
    links: Links

    @classmethod
    def of(cls, job: JobView) -> "JobSummary":
        """The summary of a job that was read whole."""
        fields = {name: getattr(job, name) for name in cls.model_fields}
        if job.error is not None:
            fields["error"] = job.error.model_copy(update={"stack": None})
        return cls.model_construct(**fields)


class JobPage(Answer):
    """One page of a list. `next_cursor` goes on from here; it is null at the end."""

    jobs: list[JobSummary]
    next_cursor: str | None = None


class ErrorGroupView(Answer):
    """Failed jobs with one type of error: how many, the id of one, and its message."""

    type: str
    count: int
    example: str
    message: str


class JobCounts(Answer):
    """How many jobs a filter holds. `states` is there when the count was asked `by=state`, `errors` when `by=error`."""

    total: int
    states: dict[State, int] | None = None
    #: Failed jobs by the type of their error, the most frequent first.
    errors: list[ErrorGroupView] | None = Field(None, exclude_if=lambda value: value is None)
    #: Whether there were too many to tell them apart one by one, so that the share of each is an estimate.
    approximate: bool = False
