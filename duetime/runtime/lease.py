"""The lease of one attempt, from the worker's side: kept alive, used to carry the record, and given up in time.

Every sign of life is an acknowledged call of its own (`RecordActivityTaskHeartbeat` by task token), because only an
answer tells that the lease was renewed; `activity.heartbeat` goes along so that the SDK's own clock knows. Without an
answer the handler is stopped here a margin before the server may give the job to somebody else. Lengths are in seconds
of the monotonic clock: no step of the wall clock can lengthen a lease.
"""

import asyncio
import contextlib
import contextvars
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.record import Attempt, Progress, Record, Sign
from duetime.runtime.stopping import Stop, reason_of

log = logging.getLogger("duetime.lease")

#: The first sign of life; shorter handlers send none.
ACKNOWLEDGE_AFTER = 0.8
#: Also how soon a cancellation is noticed.
LONGEST_INTERVAL = 3.0
#: News (progress) is sent early, but not more often than this.
SHORTEST_INTERVAL = 1.0


class LeaseLost(Exception):
    """The attempt does not own the job any more."""


class Lease:
    """Keeps one attempt's lease. All methods run on the event loop.

    `age` is how many seconds of the lease had passed when the worker got the attempt.
    """

    def __init__(
        self,
        handle: AsyncActivityHandle,
        seconds: float,
        record: Record,
        attempt: Attempt,
        *,
        manual: bool = False,
        age: float = 0.0,
        job_id: str = "",
    ) -> None:
        self._handle = handle
        self._seconds = seconds
        self._interval = min(seconds / 3, LONGEST_INTERVAL)
        self._manual = manual
        self._job_id = job_id
        self._touched = False
        self._unanswered = False
        self._retired = False
        self._renewed = time.monotonic() - age
        self._changed = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        # A handler's own threads know of no activity, yet may save a checkpoint.
        self._context = contextvars.copy_context()
        self.record = record
        self.attempt = attempt
        self.stop_reason: Stop | None = None
        self.on_stop: Callable[[], None] = lambda: None

    @property
    def stopped(self) -> bool:
        return self.stop_reason is not None

    @property
    def margin(self) -> float:
        """How long before the lease's end the handler is stopped when no renewal was answered.

        A manual lease has none: its handler may use all of it.
        """
        return 0.0 if self._manual else max(0.5, self._seconds / 10)

    def sign(self) -> Sign:
        return Sign(record=self.record.with_attempt(self.attempt))

    def stop(self, reason: Stop) -> None:
        """Stops the handler, once for each stronger reason."""
        if self.stop_reason is None or reason.value > self.stop_reason.value:
            self.stop_reason = reason
            self.on_stop()

    async def keep(self) -> None:
        """Renews until retired, lost or cancelled."""
        await asyncio.sleep(min(ACKNOWLEDGE_AFTER, self._interval))
        self._touched = True
        while self.stop_reason is not Stop.LOST and not self._retired:
            if self._touched or not self._manual:
                await self._renew_if_possible()
            await self._until_next()
            self._fence()

    async def retire(self) -> None:
        """No sign of life after this: a late one would overwrite the last word on the attempt."""
        self._retired = True
        self._changed.set()
        async with self._one_at_a_time:
            return

    async def renew(self) -> None:
        """One acknowledged sign of life; `LeaseLost` when the server does not know the attempt any more."""
        async with self._one_at_a_time:
            if self._retired:
                return
            self._touched = False
            details = self.sign().compact()
            self._context.copy().run(activity.heartbeat, details)
            sent = time.monotonic()
            try:
                await self._handle.heartbeat(details, rpc_timeout=self._patience())
            except AsyncActivityCancelledError as told:
                self.stop(reason_of(told.details))
            except RPCError as error:
                self._touched = self._unanswered = True
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                self.stop(Stop.LOST)
                raise LeaseLost("the lease of this attempt is lost") from None
            self._renewed, self._unanswered = sent, False

    async def renew_surely(self) -> None:
        """`renew`, tried until answered; `LeaseLost` when the lease runs out meanwhile."""
        while True:
            try:
                return await self.renew()
            except RPCError as error:
                self._fence()
                if self.stop_reason is Stop.LOST:
                    raise LeaseLost("the lease ran out, and the server did not answer") from None
                log.warning("no answer yet to a heartbeat of job %s: %s", self._job_id, error)
                await asyncio.sleep(self._interval / 3)

    async def save_checkpoint(self, value: Any) -> None:
        """Durable when it returns; tried until answered or the lease is lost."""
        self.record = self.record.model_copy(update={"checkpoint": value})
        await self.renew_surely()

    def show_progress(self, progress: Progress) -> None:
        self.record = self.record.model_copy(update={"progress": progress})
        self._touched = True
        self._changed.set()

    def touch(self) -> None:
        self._touched = True
        if self._manual:
            self._changed.set()

    async def _renew_if_possible(self) -> None:
        try:
            await self.renew()
        except LeaseLost:
            return
        except RPCError as error:
            log.warning("no answer to a heartbeat of job %s: %s", self._job_id, error)

    def _fence(self) -> None:
        if self._left() <= 0 and not self._retired and self.stop_reason is not Stop.LOST:
            log.error("the lease of job %s was not renewed in time: its handler is stopped", self._job_id)
            self.stop(Stop.LOST)

    def _left(self) -> float:
        return self._renewed + self._seconds - self.margin - time.monotonic()

    def _patience(self) -> timedelta:
        return timedelta(seconds=max(0.2, min(self._interval, self._left())))

    async def _until_next(self) -> None:
        """An interval, less when the last sign was not answered; news cuts it short, down to a second or so."""
        begun = time.monotonic()
        wait = self._interval / 3 if self._unanswered else self._interval
        wait = max(0.05, min(wait, self._left()))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), wait)
            if not self._retired:
                await asyncio.sleep(max(0.0, begun + min(SHORTEST_INTERVAL, wait) - time.monotonic()))
        self._changed.clear()
