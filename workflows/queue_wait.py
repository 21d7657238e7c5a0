"""A job's wait for a worker, which `queue_timeout` bounds and a pause of the queue stops.

The server times the wait (schedule to start) and knows nothing of pauses. So when it says that the time is up, the
workflow asks how much of it the queue was paused, and goes back to the queue for as long.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.workflow import ActivityHandle

from activities.queue_pauses import QUEUE_PAUSES
from duetime.contracts import limits
from duetime.contracts.instants import format_instant

#: A replay mark: before it, a pause counted as waiting.
_PATCH = "queue-pauses"
#: While a pause lasts, each look at the queue is followed by one twice as far away, up to this: a long pause costs few
#: of them, and a timeout after it comes late by no more.
_LONGEST_LOOK_AWAY = timedelta(hours=1)
_NONE = timedelta(0)


class QueueWait:
    """How long the job may still wait in its queue: `span`, of which `None` is for ever."""

    def __init__(self, timeout: timedelta | None) -> None:
        self._timeout = timeout
        self.begin()

    def begin(self) -> None:
        """The job goes to its queue anew."""
        self._waited = self._paused = _NONE
        self.span = self._timeout

    def look(self, queue: str, number: int) -> ActivityHandle[dict[str, float]] | None:
        """Asks, after the server gave up waiting, how long the queue was paused meanwhile; `None` when that is no
        matter. `number` tells one such question from another."""
        if self.span is None or not workflow.patched(_PATCH):
            return None
        until = workflow.now()
        return workflow.start_activity(
            QUEUE_PAUSES,
            args=[queue, format_instant(until - self.span), format_instant(until)],
            result_type=dict[str, float],
            activity_id=f"queue-pauses-{number}",
            start_to_close_timeout=timedelta(seconds=60),
            summary="was the queue paused?",
        )

    def goes_on(self, paused: timedelta, *, lasts: bool) -> bool:
        """Whether the job may wait on, when of its last wait the queue was `paused` so long, and perhaps still is."""
        if self._timeout is None or self.span is None:
            return True
        paused = min(paused, self.span)
        self._paused += paused
        self._waited += self.span - paused
        left = self._timeout - self._waited
        if lasts:
            left = max(left, min(self._paused, _LONGEST_LOOK_AWAY), limits.SHORTEST_TIMEOUT)
        self.span = left
        # The server's timers have a granularity of a second.
        return left >= limits.SHORTEST_TIMEOUT
