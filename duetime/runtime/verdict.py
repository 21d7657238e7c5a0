"""How one attempt ended, as the server and the workflow are told: a result, a failure, or the attempt given back."""

import asyncio
import dataclasses
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, TypeAdapter
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from duetime.backoff import retry_delay
from duetime.contracts import limits
from duetime.contracts.job import Retry
from duetime.contracts.json_value import JsonValueError, check_json
from duetime.contracts.record import Done, Error, Sign
from duetime.contracts.states import AttemptOutcome, ErrorType
from duetime.observe.attempts import OneAttempt
from duetime.outcomes import Outcome, Reject, RetryAfter, Snooze
from duetime.runtime.execution import End, Raised, Returned
from duetime.runtime.failures import describe
from duetime.runtime.lease import Lease
from duetime.runtime.stopping import Stop

#: How the failures that hand an attempt back to the workflow are called in the Temporal Web UI. Nothing depends on
#: these names: a handler's own exceptions may bear them too.
_NAMES = {
    AttemptOutcome.INTERRUPTED: "Interrupted",
    AttemptOutcome.SNOOZED: "Snoozed",
    AttemptOutcome.CANCELLED: "Cancelled",
    AttemptOutcome.TIMED_OUT: ErrorType.ATTEMPT_TIMEOUT,
    AttemptOutcome.LEASE_LOST: ErrorType.LEASE_LOST,
}
#: A next delay of zero is none to the server, which then takes its own.
_SOONEST = timedelta(milliseconds=1)


class Verdict:
    """Turns the end of a handler into an answer, and closes the attempt in the record of its lease."""

    def __init__(
        self,
        lease: Lease,
        meter: OneAttempt,
        retry: Retry,
        attempt_number: int,
        *,
        now: Callable[[], datetime],
        is_servers_last: bool,
    ) -> None:
        self._lease, self._meter, self._retry, self._now = lease, meter, retry, now
        self._attempt_number = attempt_number
        #: A pause through Temporal uses up one of the server's attempts, none of ours: the workflow goes on then.
        self._is_servers_last = is_servers_last
        #: The record for the next attempt, when the server itself starts that.
        self.last_words: Sign | None = None

    def answer(self, end: End) -> dict[str, Any]:
        """What the end means: the handler's success counts first, then why it was stopped, then its error.

        A result is told even if the lease ran out by this worker's own clock: the server takes it only while the
        attempt is still the current one.
        """
        if isinstance(end, Returned):
            return self._success(end.value)
        error = end.error if isinstance(end, Raised) else asyncio.CancelledError()
        self._meter.raised(error)
        match self._lease.stop_reason:
            case Stop.LOST:
                raise self._hand_back(AttemptOutcome.LEASE_LOST)
            case Stop.TIMED_OUT:
                raise self._hand_back(AttemptOutcome.TIMED_OUT)
            case Stop.CANCELLED:
                raise self._hand_back(AttemptOutcome.CANCELLED)
            case Stop.TAKEN_BACK if self._is_servers_last:
                # The server would end the job.
                raise self._hand_back(AttemptOutcome.INTERRUPTED)
            case Stop.TAKEN_BACK:
                self._close(AttemptOutcome.INTERRUPTED)
                self.last_words = self._lease.sign()
                raise ApplicationError(
                    "paused or reset through Temporal", type="TakenBack", next_retry_delay=_SOONEST
                )
            # What the handler says on purpose counts also when its worker shuts down.
            case Stop.SHUTDOWN if not isinstance(error, Outcome):
                raise self._hand_back(AttemptOutcome.INTERRUPTED)
        raise self._verdict(error)

    def too_early(self, wait: timedelta) -> ApplicationError:
        """Given back before the handler began, to be handed out again when it is time."""
        if self._is_servers_last:
            return self._hand_back(AttemptOutcome.INTERRUPTED, delay=wait.total_seconds())
        self._close(AttemptOutcome.INTERRUPTED)
        self.last_words = self._lease.sign().model_copy(update={"delay": wait.total_seconds()})
        return ApplicationError("handed out before its time", type="TooEarly", next_retry_delay=wait)

    def _verdict(self, error: BaseException) -> ApplicationError:
        match error:
            case Snooze():
                return self._hand_back(AttemptOutcome.SNOOZED, delay=error.delay.total_seconds())
            case RetryAfter():
                return self.failure(describe(error), delay=error.delay)
            case Reject():
                return self.failure(describe(error), final=True)
            case ApplicationError():  # as Temporal's own users raise it
                return self.failure(describe(error), final=error.non_retryable, delay=error.next_retry_delay)
        return self.failure(describe(error))

    def _success(self, value: Any) -> dict[str, Any]:
        try:
            result = plain(value)
            check_json(result, limits.RESULT_BYTES)
        except Exception as fault:
            said = fault.about("the result") if isinstance(fault, JsonValueError) else None
            message = said or f"the result: {describe(fault).message}"
            error = Error(type=ErrorType.INVALID_RESULT, message=message)
            raise self.failure(error, final=True) from None
        self._close(AttemptOutcome.SUCCEEDED)
        return Done(record=self._lease.sign().record, result=result).compact()

    def failure(
        self, error: Error, *, final: bool = False, delay: timedelta | None = None
    ) -> ApplicationError:
        """A failed attempt: the server waits and tries again, unless it is the last."""
        self._close(AttemptOutcome.FAILED, error)
        final = (
            final
            or self._attempt_number >= self._retry.max_attempts
            or error.type in self._retry.non_retryable
        )
        sign = self._lease.sign()
        if final:
            return ApplicationError(error.message, sign.compact(), type=error.type, non_retryable=True)
        wait = retry_delay(self._retry, self._attempt_number, random.random()) if delay is None else delay  # noqa: S311
        words = Sign(record=sign.record, delay=wait.total_seconds())
        if self._is_servers_last:
            return ApplicationError(error.message, words.compact(), type=error.type, non_retryable=True)
        self.last_words = words
        return ApplicationError(error.message, type=error.type, next_retry_delay=max(wait, _SOONEST))

    def _hand_back(self, outcome: AttemptOutcome, delay: float | None = None) -> ApplicationError:
        """The attempt ends without the server's own retry: the workflow decides what is next."""
        self._close(outcome)
        sign = Sign(record=self._lease.sign().record, delay=delay).compact()
        return ApplicationError(
            f"attempt {outcome}",
            sign,
            type=_NAMES[outcome],
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        )

    def _close(self, outcome: AttemptOutcome, error: Error | None = None) -> None:
        self._lease.attempt = self._lease.attempt.model_copy(
            update={"outcome": outcome, "error": error, "finished_at": self._now()}
        )
        self._meter.ended(outcome)


def plain(value: Any) -> Any:
    """A handler's return value as JSON: models and dataclasses as objects, everything else as it is."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", warnings=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return TypeAdapter(type(value)).dump_python(value, mode="json", warnings=False)
    return value
