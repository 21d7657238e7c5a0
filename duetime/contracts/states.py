"""The states of a job and the outcomes of an attempt: who moves a job into each, beside the value."""

from enum import StrEnum


class State(StrEnum):
    """Where a job stands. Every open job is in exactly one of the first five."""

    #: Accepted, due in the future. Set by the submission or by moving the job.
    SCHEDULED = "scheduled"
    #: Due, held by the jobs named in `after`.
    WAITING = "waiting"
    #: Due, waiting for a worker, or for a place under a concurrency limit before that.
    QUEUED = "queued"
    #: An attempt holds the lease. Set by the server when a worker takes the attempt.
    RUNNING = "running"
    #: The last attempt did not finish the job; the next one is due at `next_attempt_at`.
    RETRYING = "retrying"
    #: The handler returned; the result is kept.
    SUCCEEDED = "succeeded"
    #: Attempts exhausted, or a failure that no retry can mend.
    FAILED = "failed"
    #: Cancelled by a caller, or terminated.
    CANCELLED = "cancelled"
    #: Not finished by its deadline.
    EXPIRED = "expired"
    #: Not needed: a condition did not hold, or a missed time was merged into a later one.
    SKIPPED = "skipped"


FINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED, State.SKIPPED})
OPEN = frozenset(State) - FINAL


class AttemptOutcome(StrEnum):
    """How one attempt ended."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    #: The worker gave no sign of life for the length of the lease.
    LEASE_LOST = "lease_lost"
    #: Longer than `timeout`.
    TIMED_OUT = "timed_out"
    #: The worker shut down and gave the attempt back; costs none.
    INTERRUPTED = "interrupted"
    #: The handler raised `Snooze`; costs none.
    SNOOZED = "snoozed"
    CANCELLED = "cancelled"


#: Outcomes that use up none of `max_attempts`.
FREE = frozenset({AttemptOutcome.INTERRUPTED, AttemptOutcome.SNOOZED, AttemptOutcome.CANCELLED})


class ErrorType(StrEnum):
    """Types of failure that Duetime itself gives to a job (`error.type`); all others are the handler's."""

    QUEUE_TIMEOUT = "QueueTimeout"
    ATTEMPT_TIMEOUT = "AttemptTimeout"
    LEASE_LOST = "LeaseLost"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    #: Ten workers in a row took the job and were never heard of again.
    WORKER_LOST = "WorkerLost"
    CANCELLED = "Cancelled"
    #: A job named in `after` ended otherwise than by succeeding.
    DEPENDENCY_FAILED = "DependencyFailed"
    #: The handler raised `Reject`.
    REJECTED = "Rejected"
    #: The payload does not fit the handler's model.
    INVALID_PAYLOAD = "InvalidPayload"
    #: The handler returned something that is not JSON, or too large.
    INVALID_RESULT = "InvalidResult"
    #: The job given to the workflow is not one.
    INVALID_JOB = "InvalidJob"
    #: The pipeline given to the workflow is not one.
    INVALID_PIPELINE = "InvalidPipeline"
    #: A reference to a result leads nowhere, or to more than can be passed on.
    INVALID_REFERENCE = "InvalidReference"
    #: Somebody else's execution has the id that a job of a pipeline would have.
    ID_IN_USE = "IdInUse"
    #: Jobs of the pipeline failed.
    JOBS_FAILED = "JobsFailed"
    #: Items of the job's list failed.
    ITEMS_FAILED = "ItemsFailed"
