"""The lease of one attempt, from the worker's side: kept alive, used to carry the record, and given up in time.

Every sign of life is an acknowledged call of its own (`RecordActivityTaskHeartbeat` by task token), because only an
answer tells that the lease was renewed; `activity.heartbeat` goes along so that the SDK's own clock knows. Without an
answer the handler is stopped here a margin before the server may give the job to somebody else. Lengths are in seconds
of the monotonic clock: no step of the wall clock can lengthen a lease.
"""

import asyncio
import contextlib
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
#: Progress is sent early, but not more often than this.
SHORTEST_INTERVAL = 1.0


class LeaseLost(Exception):
    """The attempt does not own the job any more."""


class Lease:
    """Keeps one attempt's lease. All methods run on the event loop."""

    def __init__(
        self, handle: AsyncActivityHandle, seconds: float, record: Record, attempt: Attempt, manual: bool
    ) -> None:
        self._handle = handle
        self._seconds = seconds
        self._interval = min(seconds / 3, LONGEST_INTERVAL)
        self._manual = manual
        self._touched = False
        self._renewed = time.monotonic()
        self._changed = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.record = record
        self.attempt = attempt
        self.stop_reason: Stop | None = None
        self.on_stop: Callable[[], None] = lambda: None

    @property
    def stopped(self) -> bool:
        return self.stop_reason is not None

    @property
    def margin(self) -> float:
        """How long before the lease's end the handler is stopped when no renewal was answered."""
        return max(0.5, self._seconds / 10)

    def sign(self) -> Sign:
        return Sign(record=self.record.with_attempt(self.attempt))

    def stop(self, reason: Stop) -> None:
        """Stops the handler, once for each stronger reason."""
        if self.stop_reason is None or reason.value > self.stop_reason.value:
            self.stop_reason = reason
            self.on_stop()

    async def keep(self) -> None:
        """Renews until cancelled or lost."""
        await asyncio.sleep(min(ACKNOWLEDGE_AFTER, self._interval))
        self._touched = True
        while self.stop_reason is not Stop.LOST:
            if self._touched or not self._manual:
                await self._renew_or_give_up()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._until_next())
                await asyncio.sleep(min(SHORTEST_INTERVAL, self._interval))
            self._changed.clear()
            self._fence()

    async def renew(self) -> None:
        """One acknowledged sign of life; `LeaseLost` when the server does not know the attempt any more."""
        async with self._one_at_a_time:
            self._touched = False
            details = self.sign().compact()
            activity.heartbeat(details)
            sent = time.monotonic()
            try:
                await self._handle.heartbeat(details, rpc_timeout=self._patience())
            except AsyncActivityCancelledError as told:
                self.stop(reason_of(told.details))
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                self.stop(Stop.LOST)
                raise LeaseLost from None
            self._renewed = sent

    async def save_checkpoint(self, value: Any) -> None:
        """Durable when it returns; tried until answered or the lease is lost."""
        self.record = self.record.model_copy(update={"checkpoint": value})
        while True:
            try:
                return await self.renew()
            except RPCError as error:
                self._fence()
                if self.stop_reason is Stop.LOST:
                    raise LeaseLost from None
                log.warning(
                    "the checkpoint of job %s is not saved yet: %s", activity.info().workflow_id, error
                )
                await asyncio.sleep(self._interval / 3)

    def show_progress(self, progress: Progress) -> None:
        self.record = self.record.model_copy(update={"progress": progress})
        self.touch()
        self._changed.set()

    def touch(self) -> None:
        self._touched = True

    async def _renew_or_give_up(self) -> None:
        try:
            await self.renew()
        except LeaseLost:
            return
        except RPCError as error:
            self._touched = True
            log.warning("no answer to a heartbeat of job %s: %s", activity.info().workflow_id, error)

    def _fence(self) -> None:
        if not self._manual and self._left() <= 0:
            log.error(
                "lease of job %s not renewed in time: its handler is stopped", activity.info().workflow_id
            )
            self.stop(Stop.LOST)

    def _left(self) -> float:
        return self._renewed + self._seconds - self.margin - time.monotonic()

    def _patience(self) -> timedelta:
        return timedelta(seconds=max(0.2, min(self._interval, self._left())))

    def _until_next(self) -> float:
        late = time.monotonic() - self._renewed > 1.5 * self._interval
        return max(0.05, min(self._interval / 3 if late else self._interval, self._left()))
