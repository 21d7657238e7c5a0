"""One attempt of a job, in named steps: read the record, run the handler under its lease, tell how it ended."""

import asyncio
import dataclasses
import json
import logging
import random
from collections.abc import Coroutine, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from duetime.backoff import retry_delay
from duetime.contracts import limits
from duetime.contracts.instants import EPOCH
from duetime.contracts.job import Retry
from duetime.contracts.json_value import JsonValueError, check_json
from duetime.contracts.record import Assignment, Attempt, Done, Error, Record, Sign, read_sign
from duetime.contracts.states import AttemptOutcome, ErrorType
from duetime.handlers import Handler
from duetime.outcomes import Outcome, Reject, RetryAfter, Snooze
from duetime.runtime.context import Facts, Job
from duetime.runtime.execution import (
    End,
    Execution,
    LoopExecution,
    Raised,
    Returned,
    ThreadExecution,
    end_of,
)
from duetime.runtime.failures import describe, invalid_payload
from duetime.runtime.lease import Lease, LeaseLost
from duetime.runtime.stopping import Stop, reason_of

log = logging.getLogger("duetime.attempt")

#: How the failures that hand an attempt back to the workflow are called in the Temporal Web UI. Nothing depends on
#: these names: a handler's own exceptions may bear them too.
_NAMES = {
    AttemptOutcome.INTERRUPTED: "Interrupted",
    AttemptOutcome.SNOOZED: "Snoozed",
    AttemptOutcome.CANCELLED: "Cancelled",
    AttemptOutcome.TIMED_OUT: ErrorType.ATTEMPT_TIMEOUT,
    AttemptOutcome.LEASE_LOST: ErrorType.LEASE_LOST,
}
#: Seconds a handler that lost its lease, its time or its worker may take to clean up.
CLEAN_UP = 5.0
#: A next delay of zero is none to the server, which then takes its own.
_SOONEST = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Tools:
    """What attempts share in one worker process."""

    client: Client
    identity: str


def fencing_token(started: datetime) -> int:
    """The server's dispatch time of an attempt, in microseconds since 1970."""
    return (started - EPOCH) // timedelta(microseconds=1)


def last_record(details: Sequence[Any], assignment: Assignment) -> Record:
    """The record before this attempt: from the last heartbeat of this activity, else as the workflow handed it over.

    An attempt left open in it was taken back through Temporal itself (a reset): everything else ends it.
    """
    sign = read_sign(details)
    record = sign.record if sign else assignment.record
    if record.attempts and record.attempts[-1].outcome is AttemptOutcome.RUNNING:
        last = record.attempts[-1].model_copy(
            update={"outcome": AttemptOutcome.INTERRUPTED, "finished_at": datetime.now(UTC)}
        )
        record = record.with_attempt(last)
    return record


class AttemptRun:
    """Carries one attempt from the server's hand-out to an answer."""

    def __init__(self, handler: Handler, assignment: Assignment, tools: Tools) -> None:
        info = activity.info()
        self.handler, self.assignment = handler, assignment
        self.retry = Retry.model_validate(assignment.retry)
        record = last_record(info.heartbeat_details, assignment)
        self.attempt_number = record.used + 1
        attempt = Attempt(
            number=record.next_number,
            fencing_token=fencing_token(info.started_time),
            worker=tools.identity,
            started_at=info.started_time,
            dispatch=info.activity_id,
        )
        self.age = (datetime.now(UTC) - info.started_time).total_seconds()
        self.lease = Lease(
            tools.client.get_async_activity_handle(task_token=info.task_token),
            assignment.lease,
            record,
            attempt,
            manual=handler.heartbeat == "manual",
            age=0.0 if self._needs_asking() else max(0.0, self.age),
            job_id=assignment.id,
        )

    async def run(self, payload: Any) -> dict[str, Any]:
        """The answer for the server; raises what the server or the workflow must know of."""
        if self._needs_asking() and await self._is_stale():
            raise asyncio.CancelledError
        try:
            # As JSON, which strict models read dates and the like from.
            argument = self.handler.payload.validate_json(json.dumps(payload))
        except ValidationError as error:
            raise self._failure(invalid_payload(self.handler.kind, error, payload), final=True) from None
        except Exception as error:  # a validator of the model's own
            raise self._failure(describe(error)) from None
        return self._answer(await self._under_lease(argument))

    def _needs_asking(self) -> bool:
        """A frozen worker wakes with tasks it took long ago. (A wrong clock asks too often, and that is all.)"""
        return abs(self.age) >= self.assignment.lease / 2

    async def _is_stale(self) -> bool:
        """Before an old task starts, ask whether it still counts."""
        try:
            await self.lease.renew_surely()
        except LeaseLost:
            log.warning("job %s was given to another worker before this one began", self.assignment.id)
            return True
        return False

    async def _under_lease(self, argument: Any) -> End:
        if self.lease.stopped:
            return Raised(asyncio.CancelledError())
        try:
            execution = self._start(argument)
        except Exception as error:  # no thread to be had
            return Raised(error)
        keeper = asyncio.ensure_future(self.lease.keep())
        keeper.add_done_callback(self._mind_keeper)
        try:
            return await self._watch(execution)
        finally:
            await self._through_cancellations(self.lease.retire())
            keeper.cancel()

    def _start(self, argument: Any) -> Execution:
        lease, function = self.lease, self.handler.function
        loop = asyncio.get_running_loop()
        token = lease.attempt.fencing_token or 0
        # A copy: what the handler changes in it is not saved before it says so.
        facts = Facts(self.assignment, self.attempt_number, token, deepcopy(lease.record.checkpoint))
        arguments = (argument, Job(facts, lease, loop)) if self.handler.wants_job else (argument,)
        if self.handler.is_async:
            return LoopExecution(function(*arguments))
        return ThreadExecution(lambda: function(*arguments), f"duetime {self.assignment.id}")

    def _mind_keeper(self, keeper: "asyncio.Future[None]") -> None:
        if not keeper.cancelled() and (fault := keeper.exception()) is not None:
            log.error("the lease of job %s cannot be kept", self.assignment.id, exc_info=fault)
            self.lease.stop(Stop.LOST)

    async def _through_cancellations(self, step: Coroutine[Any, Any, None]) -> None:
        """Finishes a short step although the worker or the server cancels the activity meanwhile."""
        doing = asyncio.ensure_future(step)
        while not doing.done():
            try:
                await asyncio.wait([doing])
            except asyncio.CancelledError:
                self.lease.stop(reason_of(activity.cancellation_details()))
        doing.result()

    async def _watch(self, execution: Execution) -> End:
        """Waits for the handler and passes on what stops it; leaves one behind that does not listen."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        until = loop.time() + self.assignment.timeout

        def stop() -> None:
            nonlocal until
            execution.stop()
            if self.lease.stop_reason is not Stop.CANCELLED:
                until = loop.time() + CLEAN_UP
            woken.set()

        self.lease.on_stop = stop
        if self.lease.stopped:
            stop()
        while not execution.future.done():
            woken.clear()
            waiter: asyncio.Future[Any] = asyncio.ensure_future(woken.wait())
            try:
                left = max(0.0, until - loop.time())
                await asyncio.wait([execution.future, waiter], timeout=left, return_when="FIRST_COMPLETED")
            except asyncio.CancelledError:
                self.lease.stop(reason_of(activity.cancellation_details()))
            finally:
                waiter.cancel()
            if execution.future.done() or loop.time() < until:
                continue
            if self.lease.stop_reason not in (None, Stop.CANCELLED):
                log.error("the handler of job %s ignores that it must stop", self.assignment.id)
                return Raised(asyncio.CancelledError())
            self.lease.stop(Stop.TIMED_OUT)
        return end_of(execution)

    def _answer(self, end: End) -> dict[str, Any]:
        """What the end means: the handler's success counts first, then why it was stopped, then its error."""
        if isinstance(end, Returned) and self.lease.stop_reason is not Stop.LOST:
            return self._success(end.value)
        error = end.error if isinstance(end, Raised) else asyncio.CancelledError()
        match self.lease.stop_reason:
            case Stop.LOST:
                raise self._hand_back(AttemptOutcome.LEASE_LOST)
            case Stop.TIMED_OUT:
                raise self._hand_back(AttemptOutcome.TIMED_OUT)
            case Stop.CANCELLED:
                raise self._hand_back(AttemptOutcome.CANCELLED)
            case Stop.TAKEN_BACK:
                self._close(AttemptOutcome.INTERRUPTED)
                activity.heartbeat(self.lease.sign().compact())
                raise asyncio.CancelledError
            # What the handler says on purpose counts also when its worker shuts down.
            case Stop.SHUTDOWN if not isinstance(error, Outcome):
                raise self._hand_back(AttemptOutcome.INTERRUPTED)
        raise self._verdict(error)

    def _verdict(self, error: BaseException) -> ApplicationError:
        match error:
            case Snooze():
                return self._hand_back(AttemptOutcome.SNOOZED, delay=error.delay.total_seconds())
            case RetryAfter():
                return self._failure(describe(error), delay=error.delay)
            case Reject():
                return self._failure(describe(error), final=True)
            case ApplicationError():  # as Temporal's own users raise it
                return self._failure(describe(error), final=error.non_retryable, delay=error.next_retry_delay)
        return self._failure(describe(error))

    def _success(self, value: Any) -> dict[str, Any]:
        try:
            result = plain(value)
            check_json(result, limits.RESULT_BYTES)
        except Exception as fault:
            said = fault.about("the result") if isinstance(fault, JsonValueError) else None
            message = said or f"the result: {describe(fault).message}"
            error = Error(type=ErrorType.INVALID_RESULT, message=message)
            raise self._failure(error, final=True) from None
        self._close(AttemptOutcome.SUCCEEDED)
        return Done(record=self.lease.sign().record, result=result).compact()

    def _failure(
        self, error: Error, *, final: bool = False, delay: timedelta | None = None
    ) -> ApplicationError:
        """A failed attempt: the server waits and tries again, unless it is the last."""
        self._close(AttemptOutcome.FAILED, error)
        final = (
            final or self.attempt_number >= self.retry.max_attempts or error.type in self.retry.non_retryable
        )
        sign = self.lease.sign().compact()
        if final:
            return ApplicationError(error.message, sign, type=error.type, non_retryable=True)
        # The SDK sends the last heartbeat before the failure: it carries the record to the next attempt.
        activity.heartbeat(sign)
        wait = retry_delay(self.retry, self.attempt_number, random.random()) if delay is None else delay  # noqa: S311
        return ApplicationError(error.message, type=error.type, next_retry_delay=max(wait, _SOONEST))

    def _hand_back(self, outcome: AttemptOutcome, delay: float | None = None) -> ApplicationError:
        """The attempt ends without the server's own retry: the workflow decides what is next."""
        self._close(outcome)
        sign = Sign(record=self.lease.sign().record, delay=delay).compact()
        return ApplicationError(
            f"attempt {outcome}",
            sign,
            type=_NAMES[outcome],
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        )

    def _close(self, outcome: AttemptOutcome, error: Error | None = None) -> None:
        self.lease.attempt = self.lease.attempt.model_copy(
            update={"outcome": outcome, "error": error, "finished_at": datetime.now(UTC)}
        )


def plain(value: Any) -> Any:
    """A handler's return value as JSON: models and dataclasses as objects, everything else as it is."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", warnings=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return TypeAdapter(type(value)).dump_python(value, mode="json", warnings=False)
    return value
