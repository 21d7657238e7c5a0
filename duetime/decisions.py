"""What becomes of a job after an activity ended: pure functions of the facts, carried out by the workflow."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, assert_never

from duetime.backoff import retry_delay
from duetime.contracts import limits
from duetime.contracts.job import Retry
from duetime.contracts.json_value import sendable
from duetime.contracts.record import Attempt, Error, Record, Sign, cut, read_done
from duetime.contracts.states import AttemptOutcome, ErrorType

_LONGEST_NO_HANDLER_WAIT = 60


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
    #: Who had it last, as far as the server says.
    worker: str | None = None
    #: A worker that speaks no language of ours gave a sign of life, or took it at least when it was cancelled.
    heard: bool = False
    #: The server would have tried again, had it been allowed more attempts; after so long, if the handler said so.
    retryable: bool = False
    delay: timedelta | None = None


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

    @property
    def given_back(self) -> bool:
        """Whether a worker took it for nothing, since it has no handler for the kind."""
        return self.reason == "no_handler"


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
    #: The record as it was seen on the server before the activity was cancelled.
    seen: Record = field(default_factory=Record)
    #: The server makes one attempt of each dispatch: to try again after a failure is for the workflow.
    once: bool = False


def after_end(ended: Ended, situation: Situation) -> Step:
    """The next step of a job whose activity did not return."""
    record = _told(ended, situation)
    match ended.how:
        case How.FAILED:
            return _after_failure(ended, record, situation)
        case How.LEASE_LOST:
            return _after_lost_lease(ended, record, situation)
        case How.TIMED_OUT:
            return _after_timeout(ended, record, situation)
        case How.NOT_STARTED:
            message = "no worker took the job within its queue_timeout"
            return Fail(Error(type=ErrorType.QUEUE_TIMEOUT, message=message), record)
        case How.CANCELLED:
            if _is_open(record) or ended.heard:
                record = _closed(ended, record, situation, AttemptOutcome.CANCELLED)
            return Cancelled(record)
        case _:
            assert_never(ended.how)


def after_return(result: Any, situation: Situation) -> Succeed:
    """The end of a job whose activity returned: one of ours brings its record along, a foreign one only a result."""
    done = read_done(result)
    if done is not None:
        return Succeed(done.result, done.record)
    attempt = _last_attempt(situation.record, situation.dispatch)
    return Succeed(result, _with_end(situation.record, attempt, situation, AttemptOutcome.SUCCEEDED))


def after_bad_result(fault: ValueError, situation: Situation) -> Fail:
    """The end of a job whose foreign handler returned what no one can pass on: final, as it is for our own."""
    error = Error(
        type=ErrorType.INVALID_RESULT, message=cut(sendable(str(fault)), limits.ERROR_MESSAGE_LENGTH)
    )
    attempt = _last_attempt(situation.record, situation.dispatch).model_copy(update={"error": error})
    return Fail(error, _with_end(situation.record, attempt, situation, AttemptOutcome.FAILED))


def abandoned(situation: Situation) -> Record:
    """The record of a job whose handler did not stop in the time that it was given."""
    record = _most_known(situation.record, situation.seen)
    return _with_end(record, _last_attempt(record, situation.dispatch), situation, AttemptOutcome.CANCELLED)


def _told(ended: Ended, situation: Situation) -> Record:
    """The worker's own record where it told one, else the best that is known."""
    known = _most_known(situation.record, situation.seen)
    return _most_known(ended.sign.record, known) if ended.sign and ended.sign.record.attempts else known


def _most_known(one: Record, other: Record) -> Record:
    """The record that knows of more attempts; the first of two that know of as many."""
    return other if other.next_number > one.next_number else one


def _after_failure(ended: Ended, record: Record, situation: Situation) -> Step:
    """The outcome that our runtime wrote down decides, never the name of an error: a handler may use any name."""
    if ended.sign is None:
        error = Error(
            type=cut(sendable(ended.type or "Error"), limits.ERROR_TYPE_LENGTH),
            message=cut(sendable(ended.message), limits.ERROR_MESSAGE_LENGTH),
        )
        record = _closed(ended, record, situation, AttemptOutcome.FAILED, error)
        if situation.once and ended.retryable:
            return _again_or_fail(error, "failed", record, situation, ended.delay)
        return Fail(error, record)
    if ended.sign.no_handler:
        seconds = min(2 ** min(situation.unhandled, 10), _LONGEST_NO_HANDLER_WAIT)
        return Again(timedelta(seconds=seconds), "no_handler", record)
    last = record.attempts[-1] if record.attempts else None
    match last.outcome if last else None:
        case AttemptOutcome.INTERRUPTED:
            return Again(timedelta(seconds=ended.sign.delay or 0), "interrupted", record)
        case AttemptOutcome.SNOOZED:
            return Again(timedelta(seconds=ended.sign.delay or 0), "snoozed", record)
        case AttemptOutcome.CANCELLED:
            return Cancelled(record)
        case AttemptOutcome.TIMED_OUT:
            return _after_timeout(ended, record, situation)
        case AttemptOutcome.LEASE_LOST:
            return _after_lost_lease(ended, record, situation)
        case AttemptOutcome.FAILED if (
            ended.sign.delay is not None
        ):  # the server's count was at its end, not ours
            return Again(timedelta(seconds=ended.sign.delay), "failed", record)
    said = last.error if last else None
    return Fail(said or Error(type=ended.type or "Error", message=ended.message), record)


def _after_lost_lease(ended: Ended, record: Record, situation: Situation) -> Step:
    acknowledged = (
        _is_open(record)
        or _is_closed_as(record, AttemptOutcome.LEASE_LOST, situation)
        or (ended.sign is None and ended.heard)
    )
    record = _closed(ended, record, situation, AttemptOutcome.LEASE_LOST, acknowledged=acknowledged)
    if not acknowledged:
        if record.unacknowledged < limits.UNACKNOWLEDGED_ATTEMPTS:
            return Again(_left_to_wait(ended.sign, situation.now), "lease_lost", record)
        message = (
            f"{limits.UNACKNOWLEDGED_ATTEMPTS} workers in a row took the job and were not heard of again"
        )
        return Fail(Error(type=ErrorType.WORKER_LOST, message=message), record)
    message = "the worker gave no sign of life for the length of the lease"
    return _again_or_fail(Error(type=ErrorType.LEASE_LOST, message=message), "lease_lost", record, situation)


def _left_to_wait(sign: Sign | None, now: datetime) -> timedelta:
    """What is left of the wait after the attempt that was heard of last: a server that crashed may hand out the next
    one too early, and to nobody."""
    last = sign.record.attempts[-1] if sign and sign.record.attempts else None
    if sign is None or sign.delay is None or last is None or last.finished_at is None:
        return timedelta(0)
    return max(timedelta(0), last.finished_at + timedelta(seconds=sign.delay) - now)


def _after_timeout(ended: Ended, record: Record, situation: Situation) -> Step:
    record = _closed(ended, record, situation, AttemptOutcome.TIMED_OUT)
    error = Error(type=ErrorType.ATTEMPT_TIMEOUT, message="the attempt took longer than its timeout")
    return _again_or_fail(error, "timed_out", record, situation)


def _again_or_fail(
    error: Error, reason: str, record: Record, situation: Situation, delay: timedelta | None = None
) -> Step:
    if record.used >= situation.retry.max_attempts or error.type in situation.retry.non_retryable:
        return Fail(error, record)
    if delay is None:
        delay = retry_delay(situation.retry, max(1, record.used), situation.chance)
    return Again(delay, reason, record)


def _is_open(record: Record) -> bool:
    return bool(record.attempts) and record.attempts[-1].outcome is AttemptOutcome.RUNNING


def _is_closed_as(record: Record, outcome: AttemptOutcome, situation: Situation) -> bool:
    """Whether the worker itself said of the attempt that just ended that it ended in this way."""
    if not record.attempts:
        return False
    last = record.attempts[-1]
    return last.dispatch == situation.dispatch and last.outcome is outcome and last.acknowledged


def _closed(
    ended: Ended,
    record: Record,
    situation: Situation,
    outcome: AttemptOutcome,
    error: Error | None = None,
    acknowledged: bool = True,
) -> Record:
    """`record` with its last attempt ended; one that nobody told of is added, to be found in the server's history."""
    if _is_open(record) or _is_closed_as(record, outcome, situation):
        attempt = record.attempts[-1]
    else:
        attempt = Attempt(number=record.next_number, dispatch=situation.dispatch, worker=ended.worker)
    attempt = attempt.model_copy(update={"error": error or attempt.error, "acknowledged": acknowledged})
    return _with_end(record, attempt, situation, outcome)


def _last_attempt(record: Record, dispatch: str) -> Attempt:
    return record.attempts[-1] if _is_open(record) else Attempt(number=record.next_number, dispatch=dispatch)


def _with_end(record: Record, attempt: Attempt, situation: Situation, outcome: AttemptOutcome) -> Record:
    changes = {"outcome": outcome, "finished_at": attempt.finished_at or situation.now}
    return record.with_attempt(attempt.model_copy(update=changes))
