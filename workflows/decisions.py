"""What becomes of a job after an activity ended: pure functions of the facts, carried out by the workflow."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, assert_never

from duetime.backoff import retry_delay
from duetime.contracts import limits
from duetime.contracts.job import Retry
from duetime.contracts.record import Attempt, Error, Record, Sign, cut
from duetime.contracts.states import AttemptOutcome, ErrorType
from duetime.runtime.attempt import CANCELLED, INTERRUPTED, NO_HANDLER, SNOOZED


class How(Enum):
    """How an activity ended, when not by returning."""

    #: By a failure that the server does not retry (any more).
    FAILED = auto()
    #: The lease ran out: heartbeat timeout.
    LEASE_LOST = auto()
    #: Start-to-close timeout.
    TIMED_OUT = auto()
    #: Schedule-to-start timeout.
    NOT_STARTED = auto()
    CANCELLED = auto()


@dataclass(frozen=True)
class Ended:
    """The facts of an activity's end. `sign` is what its worker said last, if it was one of ours."""

    how: How
    type: str = ""
    message: str = ""
    sign: Sign | None = None


@dataclass(frozen=True)
class Fail:
    error: Error
    record: Record


@dataclass(frozen=True)
class Again:
    """Start another activity after `delay`; `reason` is for people."""

    delay: timedelta
    reason: str
    record: Record


@dataclass(frozen=True)
class Cancelled:
    record: Record


@dataclass(frozen=True)
class Succeed:
    result: Any
    record: Record


Step = Succeed | Fail | Again | Cancelled


@dataclass(frozen=True)
class Situation:
    """Where the job stood when the activity ended."""

    record: Record
    dispatch: str
    retry: Retry
    now: datetime
    #: A random number in [0, 1).
    chance: float
    #: How many workers in a row had no handler for the kind.
    unhandled: int = 0


def after_end(ended: Ended, situation: Situation) -> Step:
    """The next step of a job whose activity did not return."""
    record = ended.sign.record if ended.sign else situation.record
    match ended.how:
        case How.FAILED:
            return _after_failure(ended, record, situation)
        case How.LEASE_LOST:
            return _after_lost_lease(record, situation)
        case How.TIMED_OUT:
            return _after_timeout(record, situation)
        case How.NOT_STARTED:
            message = "no worker took the job within its queue_timeout"
            return Fail(Error(type=ErrorType.QUEUE_TIMEOUT, message=message), record)
        case How.CANCELLED:
            return Cancelled(record)
        case _:
            assert_never(ended.how)


def after_return(result: Any, situation: Situation) -> Succeed:
    """The end of a job whose activity returned: one of ours brings its record along, a foreign one only a result."""
    if isinstance(result, dict) and "$duetime" in result:
        return Succeed(result.get("result"), Sign.model_validate(result).record)
    return Succeed(result, _closed(situation.record, situation, AttemptOutcome.SUCCEEDED))


def _after_failure(ended: Ended, record: Record, situation: Situation) -> Step:
    match ended.type:
        case t if t == INTERRUPTED:
            return Again(timedelta(0), "interrupted", record)
        case t if t == SNOOZED and ended.sign:
            return Again(timedelta(seconds=ended.sign.delay or 0), "snoozed", record)
        case t if t == CANCELLED and ended.sign:
            return Cancelled(record)
        case t if t == NO_HANDLER:
            return Again(timedelta(seconds=min(2**situation.unhandled, 60)), "no_handler", record)
        case ErrorType.ATTEMPT_TIMEOUT if ended.sign:
            return _after_timeout(record, situation)
    error = Error(type=ended.type or "Error", message=cut(ended.message, limits.ERROR_MESSAGE_LENGTH))
    if ended.sign and record.attempts and record.attempts[-1].error:
        error = record.attempts[-1].error
    if not ended.sign:
        record = _closed(record, situation, AttemptOutcome.FAILED, error)
    return Fail(error, record)


def _after_lost_lease(record: Record, situation: Situation) -> Step:
    acknowledged = _is_open(record)
    record = _closed(record, situation, AttemptOutcome.LEASE_LOST, acknowledged=acknowledged)
    if not acknowledged:
        if record.unacknowledged < limits.UNACKNOWLEDGED_ATTEMPTS:
            return Again(timedelta(0), "lease_lost", record)
        message = (
            f"{limits.UNACKNOWLEDGED_ATTEMPTS} workers in a row took the job and were not heard of again"
        )
        return Fail(Error(type=ErrorType.WORKER_LOST, message=message), record)
    message = "the worker gave no sign of life for the length of the lease"
    return _again_or_fail(Error(type=ErrorType.LEASE_LOST, message=message), "lease_lost", record, situation)


def _after_timeout(record: Record, situation: Situation) -> Step:
    record = _closed(record, situation, AttemptOutcome.TIMED_OUT)
    error = Error(type=ErrorType.ATTEMPT_TIMEOUT, message="the attempt took longer than its timeout")
    return _again_or_fail(error, "timed_out", record, situation)


def _again_or_fail(error: Error, reason: str, record: Record, situation: Situation) -> Step:
    if record.used >= situation.retry.max_attempts or error.type in situation.retry.non_retryable:
        return Fail(error, record)
    return Again(retry_delay(situation.retry, max(1, record.used), situation.chance), reason, record)


def _is_open(record: Record) -> bool:
    return bool(record.attempts) and record.attempts[-1].outcome is AttemptOutcome.RUNNING


def _closed(
    record: Record,
    situation: Situation,
    outcome: AttemptOutcome,
    error: Error | None = None,
    acknowledged: bool = True,
) -> Record:
    """`record` with its last attempt ended; one that nobody heard of is added, to be found in the server's history."""
    if record.attempts and _belongs(record.attempts[-1], situation.dispatch, outcome):
        attempt = record.attempts[-1]
    else:
        attempt = Attempt(number=record.next_number, dispatch=situation.dispatch)
    changes = {
        "outcome": outcome,
        "error": error or attempt.error,
        "finished_at": attempt.finished_at or situation.now,
        "acknowledged": acknowledged,
    }
    return record.with_attempt(attempt.model_copy(update=changes))


def _belongs(attempt: Attempt, dispatch: str, outcome: AttemptOutcome) -> bool:
    """Whether `attempt` is the one that just ended: still open, or closed by its own worker in the same way."""
    return attempt.outcome is AttemptOutcome.RUNNING or (
        attempt.dispatch == dispatch and attempt.outcome is outcome is AttemptOutcome.TIMED_OUT
    )
