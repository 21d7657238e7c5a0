"""Telling the server how an attempt ended, until it has taken or refused that.

A result is worth the work that made it, so no answer means: again. The server takes the first ending of an attempt and
knows none after that, so repeating is safe, and a refusal after an unanswered try says nothing about that try.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import Enum, auto

from temporalio.service import RPCError, RPCStatusCode

from duetime.runtime.counters import Counters
from duetime.runtime.keeper import Keeper, Result

log = logging.getLogger("duetime.attempt")

#: How long one try may take, and the pauses between tries, in seconds.
_TRY = timedelta(seconds=5)
_PAUSES = (0.1, 0.3, 1.0, 3.0)
#: What is left for tries once the worker has been told to end, in seconds.
_FAREWELL = 5.0


class Delivered(Enum):
    """What became of an ending."""

    TAKEN = auto()
    #: The attempt was not the job's current one any more.
    REFUSED = auto()
    #: A try went unanswered, and the next one found the attempt gone: by that try, or otherwise.
    UNKNOWN = auto()
    #: The worker had to end first.
    GIVEN_UP = auto()
    #: The server does not accept this as an ending (too large, say).
    IMPOSSIBLE = auto()


class Delivery:
    """Delivers one ending of an attempt of `job_id`, by calling `say` with its time limit.

    `ending` is set, on the keeper's loop, when the worker shall end.
    """

    def __init__(
        self,
        job_id: str,
        say: Callable[[timedelta], Awaitable[None]],
        counters: Counters,
        ending: asyncio.Event,
    ) -> None:
        self._job_id, self._say = job_id, say
        self._counters = counters
        self._ending = ending
        self._tries = 0

    async def deliver(self, keeper: Keeper) -> Delivered:
        """What became of it, although the worker or the server cancels the activity meanwhile.

        The first try goes out from here: with an answer at once, as nearly always, no other thread need be woken. The
        rest is for `keeper`, whose loop no handler blocks.
        """
        if delivered := await _undisturbed(asyncio.ensure_future(self.try_once())):
            return delivered
        return await _undisturbed(keeper.run(self.go_on()))

    async def try_once(self) -> Delivered | None:
        """`None` without an answer that counts."""
        self._tries += 1
        try:
            await self._say(_TRY)
            return Delivered.TAKEN
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return self._not_taken(certain=self._tries == 1)
            if error.status is RPCStatusCode.INVALID_ARGUMENT:
                log.error("the end of an attempt of job %s is not accepted: %s", self._job_id, error)
                return Delivered.IMPOSSIBLE
            log.warning("the end of an attempt of job %s has no answer yet: %s", self._job_id, error)
            return None

    async def go_on(self) -> Delivered:
        """After a try without an answer: more of them, until there is one."""
        loop, until = asyncio.get_running_loop(), None
        while True:
            if self._ending.is_set():
                until = until or loop.time() + _FAREWELL
                if loop.time() > until:
                    self._counters.add("results_unknown")
                    return Delivered.GIVEN_UP
            await self._pause(_PAUSES[min(self._tries, len(_PAUSES)) - 1])
            if delivered := await self.try_once():
                return delivered

    async def _pause(self, seconds: float) -> None:
        if self._ending.is_set():
            await asyncio.sleep(min(seconds, 0.5))
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    def _not_taken(self, *, certain: bool) -> Delivered:
        self._counters.add("results_refused" if certain else "results_unknown")
        said = "refused: it is not the job's attempt any more" if certain else "unknown: an answer was lost"
        log.warning("the end of an attempt of job %s is %s", self._job_id, said)
        return Delivered.REFUSED if certain else Delivered.UNKNOWN


async def _undisturbed(doing: asyncio.Future[Result]) -> Result:
    """What `doing` gives, which no cancellation of the one who waits for it cuts short."""
    while not doing.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([doing])
    return doing.result()
