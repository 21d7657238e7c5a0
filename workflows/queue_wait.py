"""A job's wait for a worker, which `queue_timeout` bounds and a pause of the queue stops.

The server times the wait (schedule to start) and knows nothing of pauses. So when it says that the time is up, the
workflow asks how much of it the queue was paused, and goes back to the queue for as long. Nor does the server know that
a worker which has no handler for the job gives it back: that ends no wait, and the workflow minds the clock itself.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow

from activities.queue_pauses import QUEUE_PAUSES
from duetime.contracts import limits
from duetime.contracts.instants import format_instant
from duetime.decisions import How

#: A replay mark: before it, a pause counted as waiting.
_PATCH = "queue-pauses"
#: Another: before it, a job that was given back began its wait anew.
_GIVEN_BACK = "given-back-waits-on"
#: While a pause lasts, each look at the queue is followed by one twice as far away, up to this: a long pause costs few
#: of them, and a timeout after it comes late by no more.
_LONGEST_LOOK_AWAY = timedelta(hours=1)
_NONE = timedelta(0)

Wait = Callable[[Callable[[], bool], None], Awaitable[None]]


class QueueWait:
    """How long the job may still wait in its queue: `span`, of which `None` is for ever."""

    def __init__(self, timeout: timedelta | None, since: datetime | None = None) -> None:
        self._timeout = timeout
        self._is_over = False
        self._looks = 0
        self.anew()
        #: Of a wait that goes on, since the job was given back: when it began.
        self.since = since

    def anew(self) -> None:
        """What it has waited does not count."""
        self._waited = self._paused = _NONE
        self.span = self._timeout
        self.since = None

    def as_one(self) -> datetime | None:
        """When a wait that goes on would have begun, had no pause parted it: what another run begins with."""
        if self.since is None or self._timeout is None or self.span is None:
            return None
        return self.since - (self._timeout - self.span)

    def enter(self, waited: timedelta = _NONE) -> timedelta | None:
        """The job goes to its queue, when it has `waited` so long already: how long it may wait there."""
        self._is_over = False
        if self.span is None or not waited:
            return self.span
        return max(self.span - waited, limits.SHORTEST_TIMEOUT)

    def leave(self, how: How, *, given_back: bool = False) -> None:
        """It has left the queue, or had to: whatever began anew later waits anew, unless it was only given back."""
        self._is_over = how is How.NOT_STARTED
        if given_back and self._timeout is not None and workflow.patched(_GIVEN_BACK):
            return
        if not self._is_over:
            self.anew()

    def left(self, begun: datetime) -> timedelta | None:
        """What is left of the wait that began then; `None` is for ever."""
        return None if self.span is None else max(self.span - (workflow.now() - begun), _NONE)

    def left_since(self, begun: datetime) -> timedelta | None:
        """What is left to a job that was given back, of its wait that began then: `None` when no clock runs."""
        if self.span is None or not workflow.patched(_GIVEN_BACK):
            return None
        self.since = begun
        left = self.left(begun)
        self._is_over = not left
        return left

    async def goes_on(self, queue: str, wait: Wait) -> bool:
        """Whether a job whose time in the queue is up may go back to it, since that was paused meanwhile. `wait` waits
        for a condition as the job does."""
        if not self._is_over or self.span is None or not workflow.patched(_PATCH):
            return False
        until = workflow.now()
        self._looks += 1
        look: Any = workflow.start_activity(
            QUEUE_PAUSES,
            args=[queue, format_instant(until - self.span), format_instant(until)],
            result_type=dict[str, float],
            activity_id=f"queue-pauses-{self._looks}",
            start_to_close_timeout=timedelta(seconds=60),
            summary="was the queue paused?",
        )
        await wait(look.done, None)
        told = await look
        return self.extend(timedelta(seconds=told["paused"]), lasts=bool(told["lasts"]))

    def extend(self, paused: timedelta, *, lasts: bool) -> bool:
        """Whether anything is left, when of its last wait the queue was `paused` so long, and perhaps still is."""
        if self._timeout is None or self.span is None:
            return True
        paused = min(paused, self.span)
        self._paused += paused
        self._waited += self.span - paused
        left = self._timeout - self._waited
        if lasts:
            left = max(left, min(self._paused, _LONGEST_LOOK_AWAY), limits.SHORTEST_TIMEOUT)
        self.span, self.since = left, None
        # The server's timers have a granularity of a second.
        return left >= limits.SHORTEST_TIMEOUT
