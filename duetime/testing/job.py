"""One job of the fake, and the job as callers see it."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from duetime.contracts.job import JobSpec
from duetime.contracts.record import Error, Progress, Record, read_sign
from duetime.contracts.states import FINAL, ErrorType, State
from duetime.contracts.view import AttemptView, ErrorView, JobView, LeaseView, Links, ProgressView
from duetime.predecessors import Predecessors

if TYPE_CHECKING:
    from duetime.testing.attempt import FakeAttempt


class Phase(Enum):
    """Where a job is between its submission and its end."""

    #: Held by jobs that it comes after, or by its due time.
    WAITING = auto()
    #: On its queue.
    QUEUED = auto()
    RUNNING = auto()
    #: Failed, and the server waits before it tries again.
    RETRYING = auto()
    #: Given back to the workflow, which waits before it starts another activity.
    BACKING_OFF = auto()
    ENDED = auto()


@dataclass
class FakeJob:
    """What the server and the workflow of a real job would know."""

    id: str
    #: The order of submission.
    number: int
    spec: JobSpec
    created_at: datetime
    due_at: datetime
    priority: int
    predecessors: Predecessors
    #: What its Idempotency-Key came with: the key, and the body in one spelling.
    key: tuple[str, str] | None = None
    idempotency_key: str = ""
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    record: Record = field(default_factory=Record)
    phase: Phase = Phase.WAITING
    next_at: datetime | None = None
    reason: str | None = None
    queued_at: datetime | None = None
    #: Whether it has a place under the limit of its concurrency key.
    has_place: bool = False
    dispatches: int = 0
    #: Workers in a row that had no handler for it.
    unhandled: int = 0
    #: Tries that the server has left for this activity, and what the last one said with its heartbeats.
    tries_left: int = 1
    details: list[Any] = field(default_factory=list)
    attempt: "FakeAttempt | None" = None
    #: Why it is being cancelled.
    cancelling: str | None = None
    final: State | None = None
    result: Any = None
    error: Error | None = None
    finished_at: datetime | None = None

    def __post_init__(self) -> None:
        self.idempotency_key = self.idempotency_key or f"{self.id}:{self.run_id}"

    @property
    def is_open(self) -> bool:
        return self.final is None

    @property
    def deadline_at(self) -> datetime | None:
        return self.due_at + self.spec.deadline if self.spec.deadline is not None else None

    def told(self) -> Record:
        """The record, with what the activity under way has said since."""
        sign = read_sign(self.details) if self.is_open else None
        record = sign.record if sign and sign.record.attempts else self.record
        if self.attempt is None:
            return record
        last = record.attempts[-1] if record.attempts else None
        if last is not None and last.fencing_token == self.attempt.token:
            return record
        return record.with_attempt(self.attempt.begun(record.next_number))

    def state(self, now: datetime) -> State:
        if self.final is not None:
            return self.final
        match self.phase:
            case Phase.RUNNING:
                return State.RUNNING
            case Phase.RETRYING | Phase.BACKING_OFF:
                return State.RETRYING if self.next_at and self.next_at > now else State.QUEUED
            case Phase.WAITING if self.due_at > now:
                return State.SCHEDULED
            case Phase.WAITING if not self.predecessors.settled:
                return State.WAITING
        return State.QUEUED

    def view(self, now: datetime, warnings: list[str] | None = None) -> JobView:
        """The job as the API answers it."""
        state, record = self.state(now), self.told()
        started = next((attempt.started_at for attempt in record.attempts if attempt.started_at), None)
        return JobView(
            id=self.id,
            run_id=self.run_id,
            kind=self.spec.kind,
            queue=self.spec.queue,
            state=state,
            payload=self.spec.payload,
            tags=self.spec.tags,
            priority=self.priority,
            created_at=self.created_at,
            due_at=self.due_at,
            started_at=started,
            finished_at=self.finished_at,
            late_by=self._lateness(state, started, now),
            attempt=record.used,
            max_attempts=self.spec.retry.max_attempts,
            next_attempt_at=self.next_at if state is State.RETRYING else None,
            lease=self._lease(),
            attempts=[AttemptView.model_validate(attempt.model_dump()) for attempt in record.attempts],
            progress=_progress(record.progress),
            checkpoint=record.checkpoint,
            result=self.result,
            error=self._error(state, record),
            warnings=warnings or [],
            links=Links(self=f"/v1/jobs/{self.id}", temporal=""),
        )

    def _lateness(self, state: State, started: datetime | None, now: datetime) -> timedelta | None:
        if started is None and (state is State.SCHEDULED or state in FINAL):
            return None
        return max(timedelta(0), (started or now) - self.due_at)

    def _lease(self) -> LeaseView | None:
        if self.attempt is None:
            return None
        return LeaseView(
            worker=self.attempt.worker,
            fencing_token=self.attempt.token,
            acquired_at=self.attempt.started_at,
            expires_at=self.attempt.started_at + self.spec.lease,
        )

    def _error(self, state: State, record: Record) -> ErrorView | None:
        last = record.attempts[-1].error if record.attempts else None
        error = self.error
        if error is None:
            error = last if state is not State.SUCCEEDED else None
        elif last is not None and last.type == error.type:
            error = last
        if error is None and state is State.CANCELLED:
            error = Error(type=ErrorType.CANCELLED, message="cancelled")
        return ErrorView.model_validate(error.model_dump()) if error else None


def _progress(progress: Progress | None) -> ProgressView | None:
    return ProgressView.model_validate(progress.model_dump()) if progress else None
