"""One attempt of a job, in named steps: read the record, run the handler under its lease, tell how it ended."""

import asyncio
import dataclasses
import logging
import random
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel, ValidationError
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
from duetime.outcomes import Reject, RetryAfter, Snooze
from duetime.runtime.context import Facts, Job
from duetime.runtime.execution import End, Execution, LoopExecution, Raised, Returned, ThreadExecution
from duetime.runtime.failures import describe, invalid_payload
from duetime.runtime.lease import Lease, LeaseLost
from duetime.runtime.stopping import Stop, reason_of

log = logging.getLogger("duetime.attempt")

#: Types of the failures that hand an attempt back to the workflow.
INTERRUPTED, SNOOZED, CANCELLED, NO_HANDLER = "Interrupted", "Snoozed", "Cancelled", "NoHandler"
#: Seconds a handler that lost its lease, its time or its worker may take to clean up.
CLEAN_UP = 5.0


@dataclass(frozen=True)
class Tools:
    """What attempts share in one worker process."""

    client: Client
    threads: Executor
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
        self.handler, self.assignment, self.tools = handler, assignment, tools
        record = last_record(info.heartbeat_details, assignment)
        self.attempt_number = record.used + 1
        started = info.started_time
        attempt = Attempt(
            number=record.next_number,
            fencing_token=fencing_token(started),
            worker=tools.identity,
            started_at=started,
            dispatch=info.activity_id,
        )
        handle = tools.client.get_async_activity_handle(task_token=info.task_token)
        self.lease = Lease(handle, assignment.lease, record, attempt, handler.heartbeat == "manual")

    async def run(self, payload: Any) -> dict[str, Any]:
        """The answer for the server; raises what the server or the workflow must know of."""
        if await self._is_stale():
            raise asyncio.CancelledError
        try:
            argument = self.handler.payload.validate_python(payload)
        except ValidationError as error:
            raise self._failure(invalid_payload(self.handler.kind, error), final=True) from None
        end = await self._under_lease(argument)
        return self._answer(end)

    async def _is_stale(self) -> bool:
        """A frozen worker wakes with tasks it took long ago: before such a one starts, ask whether it still counts."""
        age = datetime.now(UTC) - activity.info().started_time
        if abs(age.total_seconds()) < self.assignment.lease / 2:
            return False
        try:
            await self.lease.renew()
        except LeaseLost:
            log.warning("job %s was given to another worker before this one began", self.assignment.id)
            return True
        return False

    async def _under_lease(self, argument: Any) -> End:
        execution = self._start(argument)
        keeper = asyncio.ensure_future(self.lease.keep())
        try:
            return await self._watch(execution)
        finally:
            keeper.cancel()

    def _start(self, argument: Any) -> Execution:
        lease, function = self.lease, self.handler.function
        loop = asyncio.get_running_loop()
        token = lease.attempt.fencing_token or 0
        facts = Facts(self.assignment, self.attempt_number, token, lease.record.checkpoint)
        arguments = (argument, Job(facts, lease, loop)) if self.handler.wants_job else (argument,)
        if self.handler.is_async:
            return LoopExecution(function(*arguments))
        return ThreadExecution(self.tools.threads, lambda: function(*arguments))

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
        return execution.future.result()

    def _answer(self, end: End) -> dict[str, Any]:
        if self.lease.stop_reason is Stop.LOST:
            raise asyncio.CancelledError
        if isinstance(end, Returned):
            return self._success(end.value)
        match self.lease.stop_reason:
            case Stop.SHUTDOWN:
                raise self._hand_back(INTERRUPTED, AttemptOutcome.INTERRUPTED)
            case Stop.CANCELLED:
                raise self._hand_back(CANCELLED, AttemptOutcome.CANCELLED)
            case Stop.TIMED_OUT:
                raise self._hand_back(ErrorType.ATTEMPT_TIMEOUT, AttemptOutcome.TIMED_OUT)
            case Stop.TAKEN_BACK:
                self._close(AttemptOutcome.INTERRUPTED)
                activity.heartbeat(self.lease.sign().compact())
                raise asyncio.CancelledError
        match end.error:
            case Snooze() as snooze:
                delay = snooze.delay.total_seconds()
                raise self._hand_back(SNOOZED, AttemptOutcome.SNOOZED, delay=delay)
            case RetryAfter() as failure:
                raise self._failure(describe(failure), delay=failure.delay)
            case Reject() as refusal:
                raise self._failure(describe(refusal), final=True)
            case error:
                raise self._failure(describe(error))

    def _success(self, value: Any) -> dict[str, Any]:
        result = plain(value)
        try:
            check_json(result, limits.RESULT_BYTES)
        except JsonValueError as fault:
            where = f" at {fault.pointer}" if fault.pointer else ""
            message = f"the result{where}: {fault}"
            raise self._failure(Error(type=ErrorType.INVALID_RESULT, message=message), final=True) from None
        self._close(AttemptOutcome.SUCCEEDED)
        return Done(record=self.lease.sign().record, result=result).compact()

    def _failure(
        self, error: Error, *, final: bool = False, delay: timedelta | None = None
    ) -> ApplicationError:
        """A failed attempt: the server waits and tries again, unless it is the last."""
        retry = Retry.model_validate(self.assignment.retry)
        self._close(AttemptOutcome.FAILED, error)
        final = final or self.attempt_number >= retry.max_attempts or error.type in retry.non_retryable
        sign = self.lease.sign().compact()
        if final:
            return ApplicationError(error.message, sign, type=error.type, non_retryable=True)
        # The SDK sends the last heartbeat before the failure: it carries the record to the next attempt.
        activity.heartbeat(sign)
        wait = retry_delay(retry, self.attempt_number, random.random()) if delay is None else delay  # noqa: S311
        return ApplicationError(error.message, type=error.type, next_retry_delay=wait)

    def _hand_back(self, kind: str, outcome: AttemptOutcome, delay: float | None = None) -> ApplicationError:
        """The attempt ends without the server's own retry: the workflow decides what is next."""
        self._close(outcome)
        sign = Sign(record=self.lease.sign().record, delay=delay).compact()
        quiet = ApplicationErrorCategory.BENIGN
        return ApplicationError(f"attempt {outcome}", sign, type=kind, non_retryable=True, category=quiet)

    def _close(self, outcome: AttemptOutcome, error: Error | None = None) -> None:
        self.lease.attempt = self.lease.attempt.model_copy(
            update={"outcome": outcome, "error": error, "finished_at": datetime.now(UTC)}
        )


def plain(value: Any) -> Any:
    """A handler's return value as JSON: models and dataclasses as objects, everything else as it is."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value
