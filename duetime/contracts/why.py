"""Why a job is not running, as it is answered."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from duetime.contracts.states import State
from duetime.contracts.view import Answer, ErrorView, Instant

#: A fact that does not go with the reason is not in the answer.
LEFT_OUT: Any = Field(None, exclude_if=lambda value: value is None)


class Reason(StrEnum):
    """What keeps a job where it is: a closed set."""

    #: Its time has not come.
    NOT_DUE = "not_due"
    #: Jobs named in `after` have not ended.
    WAITING_ON_JOBS = "waiting_on_jobs"
    #: The last attempt did not finish it; the next has its time.
    RETRY_BACKOFF = "retry_backoff"
    #: Somebody paused its queue.
    QUEUE_PAUSED = "queue_paused"
    #: It waits for a place under a concurrency limit: its key's, or its queue's.
    CONCURRENCY_LIMIT = "concurrency_limit"
    #: Somebody paused this one job, through Temporal.
    JOB_PAUSED = "job_paused"
    #: Nobody polls its queue.
    NO_WORKER = "no_worker"
    #: The workers of its queue have no handler for its kind.
    NO_HANDLER = "no_handler"
    #: Every slot of the workers of the queue is taken.
    WORKERS_FULL = "workers_full"
    #: The queue may not start more a second.
    RATE_LIMITED = "rate_limited"
    #: It runs.
    RUNNING = "running"
    #: Nobody runs the workflows, so it does not come to its queue.
    NO_ORCHESTRATOR = "no_orchestrator"
    #: Its workflow fails whenever it is run: a fault of ours, or two versions of the service that disagree.
    WORKFLOW_FAILING = "workflow_failing"
    #: It has ended.
    FINAL = "final"


class OtherJob(Answer):
    """A job that this one waits for, or that has a place. `state` is null when nobody knows it any more."""

    id: str
    state: State | None


class Blocked(Answer):
    """One thing that keeps the job where it is: `detail` in a sentence, and the facts that the reason has."""

    reason: Reason
    detail: str
    since: Instant | None = LEFT_OUT
    queue: str | None = LEFT_OUT
    kind: str | None = LEFT_OUT
    #: Queues whose workers announced the kind.
    announced_on: list[str] | None = LEFT_OUT
    jobs: list[OtherJob] | None = LEFT_OUT
    attempt: int | None = LEFT_OUT
    max_attempts: int | None = LEFT_OUT
    error: ErrorView | None = LEFT_OUT
    #: What somebody gave as the reason, and who.
    said: str | None = LEFT_OUT
    by: str | None = LEFT_OUT
    per_second: float | None = LEFT_OUT
    workers: int | None = LEFT_OUT
    slots: int | None = LEFT_OUT
    busy: int | None = LEFT_OUT
    #: The key of a concurrency limit (that of a queue has none), how many may run at once, and how many have a place.
    key: str | None = LEFT_OUT
    limit: int | None = LEFT_OUT
    held: int | None = LEFT_OUT
    #: Those that have a place, the oldest first.
    holders: list[OtherJob] | None = LEFT_OUT
    #: Who is how manieth of those that wait for a place; 1 is next.
    position: int | None = LEFT_OUT
    in_line: int | None = LEFT_OUT
    #: Jobs in the queue, this one included.
    queued: int | None = LEFT_OUT
    worker: str | None = LEFT_OUT
    lease_expires_at: Instant | None = LEFT_OUT
    tries: int | None = LEFT_OUT


class Suggestion(Answer):
    """What a person can do: a call of this API, or a command on some machine."""

    action: str
    detail: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = LEFT_OUT
    path: str | None = LEFT_OUT
    body: dict[str, Any] | None = LEFT_OUT
    command: str | None = LEFT_OUT


class WhyView(Answer):
    """Why a job is where it is. With nothing in `blocked` it is on its way, and starts within seconds."""

    state: State
    blocked: list[Blocked]
    #: When this changes without anybody doing anything, at the latest; null when it does not, or nobody knows.
    next_change_at: Instant | None = None
    suggestions: list[Suggestion]
