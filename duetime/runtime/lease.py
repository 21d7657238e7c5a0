"""The lease of one attempt, from the worker's side: kept alive, used to carry the record, and given up in time.

Every sign of life is an acknowledged call of its own, because only an answer tells that the lease was renewed. Without
one the handler is stopped here a margin before the server may give the job to somebody else. Lengths are in seconds of
a clock that no step of the wall clock and no suspended machine can lengthen.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.record import Attempt, Progress, Record, Sign
from duetime.runtime import clock
from duetime.runtime.counters import Counters
from duetime.runtime.stopping import Stop, reason_of

log = logging.getLogger("duetime.lease")

#: The first sign of life; shorter handlers send none.
ACKNOWLEDGE_AFTER = 0.8
#: Also how soon a cancellation is noticed.
LONGEST_INTERVAL = 3.0
#: News (progress) is sent early, but not more often than this.
SHORTEST_INTERVAL = 1.0
#: After a sign that nobody answered, how many must be answered in a row before a checkpoint is safe: the lost one may
#: still be on its way, and the server keeps what arrives last.
_CONFIRMATIONS = 2


class LeaseLost(Exception):
    """The attempt does not own the job any more."""


class Heart(Protocol):
    """Sends signs of life: `RPCError` without an answer, `AsyncActivityCancelledError` when told to end."""

    async def heartbeat(self, details: Any, rpc_timeout: timedelta) -> None: ...


class Lease:
    """Keeps one attempt's lease. Its coroutines run on one loop, `stop`, `sign` and `show_progress` anywhere.

    `age` is how many seconds of the lease had passed when the worker got the attempt.
    """

    def __init__(
        self,
        heart: Heart,
        seconds: float,
        record: Record,
        attempt: Attempt,
        *,
        manual: bool = False,
        age: float = 0.0,
        job_id: str = "",
        counters: Counters | None = None,
    ) -> None:
        self._heart = heart
        self._seconds = seconds
        self._interval = min(seconds / 3, LONGEST_INTERVAL)
        self._manual = manual
        self._job_id = job_id
        self._counters = counters or Counters()
        self._touched = False
        self._answered_in_row = _CONFIRMATIONS
        self._retired = False
        self._renewed = clock.now() - age
        self._changed = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._stopping = threading.Lock()
        self._noting = threading.Lock()
        self.record = record
        self.attempt = attempt
        self.stop_reason: Stop | None = None
        #: The server itself said that the attempt is not the current one any more.
        self.refused = False
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
        """Stops the handler, once for each stronger reason. From any thread."""
        with self._stopping:
            if self.stop_reason is not None and reason.value <= self.stop_reason.value:
                return
            self.stop_reason = reason
        self.on_stop()

    @property
    def first_sign_in(self) -> float:
        """When `keep` is to begin."""
        return min(ACKNOWLEDGE_AFTER, self._interval)

    async def keep(self) -> None:
        """Renews, first at once, until retired, lost or cancelled."""
        self._touched = True
        while self.stop_reason is not Stop.LOST and not self._retired:
            if self._touched or not self._manual:
                await self._renew_if_possible()
            await self._until_next()
            self.give_up_in_time()

    def retire(self) -> None:
        """No sign of life after this; one under way can do no harm, since the server knows it by its attempt."""
        self._retired = True

    async def renew(self) -> None:
        """One acknowledged sign of life; `LeaseLost` when the server does not know the attempt any more."""
        async with self._one_at_a_time:
            if self._retired:
                raise LeaseLost("this attempt is over")
            self._touched = False
            details = self.sign().compact()
            sent = clock.now()
            try:
                await self._heart.heartbeat(details, rpc_timeout=self._patience())
            except AsyncActivityCancelledError as told:
                self.stop(reason_of(told.details))
            except RPCError as error:
                self._touched = True
                self._answered_in_row = 0
                if error.status is not RPCStatusCode.NOT_FOUND:
                    self._counters.add("heartbeats_unanswered")
                    raise
                self._counters.add("heartbeats_refused")
                self.refused = True
                self.stop(Stop.LOST)
                raise LeaseLost("the lease of this attempt is lost") from None
            self._renewed = sent
            self._answered_in_row += 1

    async def renew_surely(self) -> None:
        """`renew`, tried until answered; `LeaseLost` when the lease runs out meanwhile."""
        while True:
            try:
                return await self.renew()
            except RPCError as error:
                self.give_up_in_time()
                if self.stop_reason is Stop.LOST:
                    raise LeaseLost("the lease ran out, and the server did not answer") from None
                log.warning("no answer yet to a heartbeat of job %s: %s", self._job_id, error)
                await asyncio.sleep(self._interval / 3)

    async def save_checkpoint(self, value: Any) -> None:
        """Durable when it returns; tried until answered or the lease is lost."""
        self._note(checkpoint=value)
        await self.renew_surely()
        while self._answered_in_row < _CONFIRMATIONS:
            await self.renew_surely()

    def show_progress(self, progress: Progress) -> None:
        """From any thread, so that what a handler says last counts; `tell_news` sends it."""
        self._note(progress=progress)

    def tell_news(self) -> None:
        self._touched = True
        self._changed.set()

    def _note(self, **changes: Any) -> None:
        with self._noting:
            self.record = self.record.model_copy(update=changes)

    def touch(self) -> None:
        self._touched = True
        if self._manual:
            self._changed.set()

    def give_up_in_time(self) -> None:
        """Stops the handler if the lease may end before anybody could renew it."""
        if self._left() <= 0 and not self._retired and self.stop_reason is not Stop.LOST:
            log.error("the lease of job %s was not renewed in time: its handler is stopped", self._job_id)
            self.stop(Stop.LOST)

    async def _renew_if_possible(self) -> None:
        try:
            await self.renew()
        except LeaseLost:
            return
        except RPCError as error:
            log.warning("no answer to a heartbeat of job %s: %s", self._job_id, error)

    def _left(self) -> float:
        return self._renewed + self._seconds - self.margin - clock.now()

    def _patience(self) -> timedelta:
        return timedelta(seconds=max(0.2, min(self._interval, self._left())))

    async def _until_next(self) -> None:
        """An interval, less when the last sign was not answered; news cuts it short, down to a second or so."""
        begun = clock.now()
        wait = self._interval if self._answered_in_row else self._interval / 3
        wait = max(0.05, min(wait, self._left()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._changed.wait()
            await asyncio.sleep(max(0.0, begun + min(SHORTEST_INTERVAL, wait) - clock.now()))
        self._changed.clear()
