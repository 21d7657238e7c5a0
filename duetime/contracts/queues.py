"""Queues and backlogs as they are answered, and what callers send about queues."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, computed_field

from duetime.contracts.job import Contract, Span
from duetime.contracts.limits import CONCURRENCY
from duetime.contracts.pauses import REASON_BYTES, WHO_BYTES
from duetime.contracts.view import Answer, Instant

#: Starts a second; a server's partition hands out no more by itself.
HIGHEST_RATE = 100_000.0


class Health(StrEnum):
    """How a queue stands, in one word; `verdict` says it in a sentence. The first that holds."""

    #: Somebody paused it.
    PAUSED = "paused"
    #: Due jobs do not come to it: no worker runs the workflows.
    NO_ORCHESTRATOR = "no_orchestrator"
    #: No worker polls it.
    NO_WORKER = "no_worker"
    #: Jobs wait for the sake of a rate limit.
    RATE_LIMITED = "rate_limited"
    #: Jobs wait, and every slot of its workers is taken.
    WORKERS_FULL = "workers_full"
    #: Jobs wait, and come faster than they are started.
    BEHIND = "behind"
    #: Jobs wait for a worker that has a handler for their kind.
    NO_HANDLER = "no_handler"
    #: Jobs wait for a place under the queue's concurrency limit or their own.
    CONCURRENCY_LIMITED = "concurrency_limited"
    OK = "ok"


class Backlog(Answer):
    """Open jobs by where they are; each is in exactly one place."""

    #: Due in the future.
    scheduled: int = 0
    #: Due, held by the jobs named in `after`.
    waiting: int = 0
    #: Due, and not in its queue yet: its workflow has still to put it there.
    overdue: int = 0
    #: Due, waiting for a place under a concurrency limit.
    limited: int = 0
    #: In its queue, for any worker to take.
    queued: int = 0
    #: In its queue, which is paused; or paused by itself, through Temporal.
    paused: int = 0
    #: An attempt holds the lease.
    running: int = 0
    #: The next attempt is due in the future.
    retrying: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def open(self) -> int:
        """All of them."""
        return (
            self.scheduled
            + self.waiting
            + self.overdue
            + self.limited
            + self.queued
            + self.paused
            + self.running
            + self.retrying
        )

    @property
    def ready(self) -> int:
        """Those that nothing of their own keeps from running."""
        return self.overdue + self.queued + self.paused


class WorkerView(Answer):
    """A worker that lives. `told_by` its own signs of life, or only by its `poll`s, which hide its slots."""

    identity: str
    host: str | None = None
    started_at: Instant | None = None
    seen_at: Instant
    told_by: Literal["heartbeat", "poll"]
    slots: int | None = None
    busy: int | None = None


class PauseView(Answer):
    """Why a queue hands out nothing."""

    since: Instant | None = None
    reason: str
    by: str


class RateView(Answer):
    """How many starts a second the queue allows. `source` is this API, or the `worker` that asks for no more."""

    per_second: float
    source: Literal["api", "worker"]
    reason: str = ""
    by: str = ""


class ConcurrencyView(Answer):
    """How many attempts of the queue's jobs may be under way at once."""

    limit: int
    reason: str
    by: str
    since: Instant


class Pace(Answer):
    """How fast it goes, per second. Arrivals and starts are the server's, over about half a minute, with retries;
    completions are jobs that ended in the last minute."""

    arrivals: float
    starts: float
    completions: float


class QueueView(Answer):
    """A queue: what waits in it, who serves it, and what that means."""

    name: str
    health: Health
    verdict: str
    jobs: Backlog
    #: Whether there were too many due jobs to look at each, so that the split is an estimate.
    approximate: bool = False
    #: Since when the job that waits longest could have run, and how long that is.
    oldest_ready_at: Instant | None = None
    oldest_age: Span | None = None
    #: How long it takes until nothing waits, at this pace; null when it would not.
    drains_in: Span | None = None
    pace: Pace
    pause: PauseView | None = None
    rate: RateView | None = None
    concurrency: ConcurrencyView | None = None
    slots: int | None = None
    busy: int | None = None
    workers: list[WorkerView] = Field(default_factory=list)
    #: Kinds that workers announced on it.
    kinds: list[str] = Field(default_factory=list)


class OrchestrationView(Answer):
    """The workers that run the workflows, without which nothing comes to any queue."""

    health: Health
    verdict: str
    workers: list[WorkerView] = Field(default_factory=list)


class QueueList(Answer):
    """All queues that are known: those of open jobs, those that kinds were announced on, and those that are polled."""

    queues: list[QueueView]
    orchestration: OrchestrationView
    taken_at: Instant


class BacklogGroup(Answer):
    """Open jobs that have one thing in common; `name` is null for those without it."""

    name: str | None
    jobs: Backlog
    oldest_ready_at: Instant | None = None
    oldest_age: Span | None = None


class BacklogView(Answer):
    """Open jobs, each in one place of one group."""

    by: Literal["queue", "kind", "fairness_key"]
    groups: list[BacklogGroup]
    total: Backlog
    approximate: bool = False
    taken_at: Instant


def _fits(size: int) -> AfterValidator:
    def check(text: str) -> str:
        if any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) <= 0xDFFF for char in text):
            raise ValueError("holds a control character or a lone surrogate")
        if len(text.encode()) > size:
            raise ValueError(f"at most {size} bytes of UTF-8")
        return text

    return AfterValidator(check)


Reason = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    _fits(REASON_BYTES),
    Field(examples=["deploy"]),
]
Who = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    # Room for the name of a key behind it.
    _fits(WHO_BYTES // 2),
    Field(examples=["alice"]),
]


class PauseRequest(Contract):
    """Why, for those who find the queue paused, and who says so."""

    reason: Reason
    by: Who | None = None


class ResumeRequest(Contract):
    """Who says so."""

    by: Who | None = None


def _more_than_none(rate: float) -> float:
    if rate <= 0:
        raise ValueError("must be greater than 0; to hand out nothing, pause the queue")
    return rate


class RateRequest(Contract):
    """How many starts a second the queue allows; null takes the limit away."""

    per_second: (
        Annotated[
            float,
            Field(
                strict=True, le=HIGHEST_RATE, allow_inf_nan=False, json_schema_extra={"exclusiveMinimum": 0}
            ),
            AfterValidator(_more_than_none),
        ]
        | None
    )
    reason: Reason
    by: Who | None = None


class ConcurrencyRequest(Contract):
    """How many attempts of the queue's jobs may be under way at once."""

    limit: Annotated[int, Field(strict=True, ge=CONCURRENCY[0], le=CONCURRENCY[1])]
    reason: Reason
    by: Who | None = None
