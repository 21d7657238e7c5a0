"""One attempt of a job, in named steps: read the record, run the handler under its lease, tell how it ended."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError
from temporalio import activity
from temporalio.client import Client
from temporalio.common import MetricMeter
from temporalio.exceptions import ApplicationError

from duetime.contracts.job import Retry
from duetime.contracts.record import Assignment, Attempt, Record, read_sign
from duetime.contracts.states import AttemptOutcome, ErrorType
from duetime.handlers import Handler
from duetime.logs import speak_for
from duetime.observe.attempts import AttemptMeter
from duetime.runtime import clock
from duetime.runtime.calls import AttemptCalls
from duetime.runtime.context import Facts, Job
from duetime.runtime.counters import Counters
from duetime.runtime.delivery import Delivered, Delivery
from duetime.runtime.execution import (
    End,
    Execution,
    LoopExecution,
    Raised,
    ThreadExecution,
    end_of,
)
from duetime.runtime.failures import describe, invalid_payload
from duetime.runtime.keeper import Keeper
from duetime.runtime.lease import Lease, LeaseLost
from duetime.runtime.stopping import Stop, reason_of
from duetime.runtime.verdict import Verdict

log = logging.getLogger("duetime.attempt")

#: Seconds a handler that lost its lease, its time or its worker may take to clean up.
CLEAN_UP = 5.0
#: The server keeps its times to about a second.
_EARLY = timedelta(seconds=1)


@dataclass(frozen=True)
class Tools:
    """What attempts share in one worker process."""

    client: Client
    identity: str
    meter: AttemptMeter = field(default_factory=lambda: AttemptMeter(MetricMeter.noop))
    keeper: Keeper = field(default_factory=Keeper)
    counters: Counters = field(default_factory=Counters)
    #: Set, on the keeper's loop, when the worker shall end.
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    #: The attempts under way.
    running: "set[AttemptRun]" = field(default_factory=set)


def last_record(details: Sequence[Any], assignment: Assignment, now: datetime) -> Record:
    """The record before this attempt: from the last heartbeat of this activity, else as the workflow handed it over.

    An attempt left open in it was taken back through Temporal itself (a reset): everything else ends it.
    """
    sign = read_sign(details)
    record = sign.record if sign else assignment.record
    if record.attempts and record.attempts[-1].outcome is AttemptOutcome.RUNNING:
        last = record.attempts[-1].model_copy(
            update={"outcome": AttemptOutcome.INTERRUPTED, "finished_at": now}
        )
        record = record.with_attempt(last)
    return record


class AttemptRun:
    """Carries one attempt from the server's hand-out to an answer."""

    def __init__(self, handler: Handler, assignment: Assignment, tools: Tools) -> None:
        info = activity.info()
        self.handler, self.assignment, self.tools = handler, assignment, tools
        record = last_record(info.heartbeat_details, assignment, info.started_time)
        self.attempt_number = record.used + 1
        speak_for(assignment.id, self.attempt_number, assignment.kind)
        late_by = None if record.attempts else info.started_time - assignment.due_at
        self.meter = tools.meter.of(assignment.kind, assignment.queue, late_by)
        received = clock.now()
        attempt = Attempt(
            number=record.next_number,
            fencing_token=record.token_at(info.started_time),
            worker=tools.identity,
            started_at=info.started_time,
            dispatch=info.activity_id,
        )
        #: How long before its time the server handed it out. After a crash it hands out again what it had just handed
        #: out before, although that has failed and its retry is due much later. Both times are the server's.
        self.early_by = (info.current_attempt_scheduled_time or info.started_time) - info.started_time
        self.age = (datetime.now(UTC) - info.started_time).total_seconds()
        self.calls = AttemptCalls(tools.client, info.task_token)
        self.execution: Execution | None = None
        self._overslept = False
        most = info.retry_policy.maximum_attempts if info.retry_policy else 0
        self.lease = Lease(
            self.calls,
            assignment.lease,
            record,
            attempt,
            manual=handler.heartbeat == "manual",
            age=0.0 if self._needs_asking() else max(0.0, self.age),
            job_id=assignment.id,
            counters=tools.counters,
        )
        self.verdict = Verdict(
            self.lease,
            self.meter,
            Retry.model_validate(assignment.retry),
            self.attempt_number,
            # By the server's clock, on from the dispatch: this machine's may be wrong.
            now=lambda: info.started_time + timedelta(seconds=clock.now() - received),
            is_servers_last=0 < most <= info.attempt,
        )

    @property
    def job_id(self) -> str:
        return self.assignment.id

    @property
    def task(self) -> "asyncio.Future[Any] | None":
        """What runs on the event loop for it."""
        return self.execution.future if self.execution else None

    async def carry(self, payload: Any) -> None:
        """Runs the handler and tells the server how that ended: nothing is left for the SDK to report."""
        self.tools.running.add(self)
        try:
            await self._tell(await self._say(payload))
        finally:
            self.tools.running.discard(self)

    async def _say(self, payload: Any) -> Callable[[timedelta], Awaitable[None]] | None:
        """How the attempt ended, as a call that says so within a time limit; `None` when nobody wants to know."""
        try:
            result = await self.run(payload)
        except asyncio.CancelledError:
            return None
        except ApplicationError as failure:
            error = failure
        else:
            return lambda limit: self.calls.complete(result, limit)
        words = self.verdict.last_words.compact() if self.verdict.last_words else None
        return lambda limit: self.calls.fail(error, words, limit)

    async def _tell(self, say: Callable[[timedelta], Awaitable[None]] | None) -> None:
        if say is None:
            return
        if await self._deliver(say) is Delivered.IMPOSSIBLE:
            error = ApplicationError(
                "the server does not accept how this attempt ended; its worker's log says why",
                type=ErrorType.INVALID_RESULT,
                non_retryable=True,
            )
            await self._deliver(lambda limit: self.calls.fail(error, None, limit))

    async def _deliver(self, say: Callable[[timedelta], Awaitable[None]]) -> Delivered:
        delivery = Delivery(self.job_id, say, self.tools.counters, self.tools.ending)
        return await delivery.deliver(self.tools.keeper)

    async def run(self, payload: Any) -> dict[str, Any]:
        """The answer for the server; raises what the server or the workflow must know of.

        `CancelledError` means that it need not know anything: the attempt is not the current one any more.
        """
        if self._needs_asking() and await self._is_stale():
            raise asyncio.CancelledError
        if self.early_by > _EARLY:
            log.warning("job %s was handed out %s before its time", self.assignment.id, self.early_by)
            raise self.verdict.too_early(self.early_by)
        self.meter.began()
        try:
            # As JSON, which strict models read dates and the like from.
            argument = self.handler.payload.validate_json(json.dumps(payload))
        except ValidationError as error:
            raise self.verdict.failure(
                invalid_payload(self.handler.kind, error, payload), final=True
            ) from None
        except Exception as error:  # a validator of the model's own
            raise self.verdict.failure(describe(error)) from None
        end = await self._under_lease(argument)
        if self.lease.stop_reason is Stop.LOST:
            self.tools.counters.add("leases_lost")
        if self.lease.refused:
            self.tools.counters.add("late_results")
            raise asyncio.CancelledError
        return self.verdict.answer(end)

    def _needs_asking(self) -> bool:
        """A frozen worker wakes with tasks it took long ago. (A wrong clock asks too often, and that is all.)"""
        return abs(self.age) >= self.assignment.lease / 2

    async def _is_stale(self) -> bool:
        """Before an old task starts, ask whether it still counts."""
        try:
            await self.tools.keeper.run(self.lease.renew_surely())
        except LeaseLost:
            self.tools.counters.add("stale_starts")
            log.warning("job %s was given to another worker before this one began", self.assignment.id)
            return True
        return False

    async def _under_lease(self, argument: Any) -> End:
        if self.lease.stopped:
            return Raised(asyncio.CancelledError())
        try:
            self.execution = self._start(argument)
        except Exception as error:  # no thread to be had
            return Raised(error)
        keeping = self.tools.keeper.run_later(self.lease.first_sign_in, self._keep)
        try:
            return await self._watch(self.execution)
        finally:
            self.lease.retire()
            keeping.cancel()

    def _start(self, argument: Any) -> Execution:
        lease, function = self.lease, self.handler.function
        loop = self.tools.keeper.loop
        token = lease.attempt.fencing_token or 0
        # A copy: what the handler changes in it is not saved before it says so.
        facts = Facts(self.assignment, self.attempt_number, token, deepcopy(lease.record.checkpoint))
        arguments = (argument, Job(facts, lease, loop)) if self.handler.wants_job else (argument,)
        if self.handler.is_async:
            return LoopExecution(function(*arguments))
        return ThreadExecution(lambda: function(*arguments), f"duetime {self.assignment.id}")

    async def _keep(self) -> None:
        try:
            await self.lease.keep()
        except Exception:
            log.exception("the lease of job %s cannot be kept", self.assignment.id)
            self.lease.stop(Stop.LOST)

    def _heed_the_sdk(self) -> None:
        """What a cancellation of the activity means.

        The SDK's own clock of the lease hears nothing of our signs of life: it goes off five seconds after the first
        lease, once, and means nothing.
        """
        details = activity.cancellation_details()
        if details is not None and details.timed_out:
            if self._overslept:  # the loop is being torn down, say
                self.lease.stop(Stop.SHUTDOWN)
            self._overslept = True
            return
        self.lease.stop(reason_of(details))

    async def _watch(self, execution: Execution) -> End:
        """Waits for the handler and passes on what stops it; leaves one behind that does not listen."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        until = loop.time() + self.assignment.timeout

        def told() -> None:
            nonlocal until
            if self.lease.stop_reason is not Stop.CANCELLED:
                until = loop.time() + CLEAN_UP
            if not woken.done():
                woken.set_result(None)

        def stop() -> None:  # on any thread: a `def` handler is stopped although the loop is blocked
            execution.stop()
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(told)

        self.lease.on_stop = stop
        if self.lease.stopped:
            stop()
        while not execution.future.done():
            if woken.done():
                woken = loop.create_future()
            try:
                left = max(0.0, until - loop.time())
                waits: list[asyncio.Future[Any]] = [execution.future, woken]
                await asyncio.wait(waits, timeout=left, return_when="FIRST_COMPLETED")
            except asyncio.CancelledError:
                self._heed_the_sdk()
            if execution.future.done() or loop.time() < until:
                continue
            if self.lease.stop_reason not in (None, Stop.CANCELLED):
                self.tools.counters.add("handlers_left_behind")
                log.error("the handler of job %s ignores that it must stop", self.assignment.id)
                return Raised(asyncio.CancelledError())
            self.lease.stop(Stop.TIMED_OUT)
        return end_of(execution)
