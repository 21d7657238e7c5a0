"""The places that a job takes before an attempt, and leaves after it: its side of concurrency limits.

A job that no limit concerns does nothing here. Others ask, wait until they are told, and ask again at growing
intervals: nobody but they themselves would notice that a limit's workflow was ended by hand.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from enum import Enum, auto
from typing import Any, Protocol

from temporalio import workflow

from activities.limit_places import ASK_PLACE, ASK_QUEUE_PLACE, LEAVE_PLACE
from duetime.contracts.carry import Carry
from duetime.contracts.concurrency import chain_of, limit_of_key, limit_of_queue, scope_of
from duetime.contracts.instants import EPOCH
from duetime.contracts.job import JobSpec
from duetime.contracts.record import Part
from workflows.limit import AGAIN, CALL
from workflows.queue_limits import may_be_limited
from workflows.surely import surely

_ASK_AGAIN, _LONGEST = timedelta(minutes=1), timedelta(minutes=30)
_MILLISECOND = timedelta(milliseconds=1)

Wait = Callable[[Callable[[], bool], timedelta | None], Awaitable[None]]


class Taken(Enum):
    """What came of asking for places."""

    ALL = auto()
    #: The job was moved meanwhile: perhaps it is not due any more.
    MOVED = auto()
    #: Its history has become long; it asks on in a fresh one.
    FRESH_HISTORY = auto()
    #: Its time in the queue is up.
    LATE = auto()


class Told(Part):
    """What a limit says: this place is yours."""

    limit: str
    chain: str
    number: int


class Taker(Protocol):
    """The job, as far as it concerns its places."""

    @property
    def moved(self) -> bool: ...

    @property
    def current_priority(self) -> int: ...

    async def wait(self, condition: Callable[[], bool], span: timedelta | None) -> None:
        """As long as the job's deadline allows."""

    def say_waiting(self) -> None:
        """It is to be seen for what it waits."""


class Taking:
    """The places of one job. What it asked for outlasts a fresh history in `carry`."""

    def __init__(self, spec: JobSpec, carry: Carry) -> None:
        self._spec, self._carry = spec, carry
        #: The limits that were asked, and the number under which.
        self._asked: dict[str, int] = {}
        self._has: set[str] = set()
        self._times = 0

    @property
    def limits(self) -> list[str]:
        """Those under which the job has a place; it waits for one under the last unless it has that."""
        return list(self._asked)

    @property
    def concern(self) -> bool:
        """Whether any limit concerns this attempt, so that it must come back here when it has ended."""
        return bool(self._asked)

    def granted(self, told: dict[str, Any]) -> None:
        """A limit gave a place. One that is not wanted any more was left already, or is found to be idle."""
        place = Told.model_validate(told)
        if place.chain == _chain() and self._asked.get(place.limit) == place.number:
            self._has.add(place.limit)

    async def take(self, job: Taker, longest: timedelta | None) -> Taken:
        """Takes a place under every limit, waiting for it up to `longest` in all."""
        begun = workflow.now()
        self._times += 1
        for limit_id, ask in self._asks():
            left = None if longest is None else begun + longest - workflow.now()
            taken = await self._take(limit_id, ask, job, left)
            if taken is not Taken.ALL:
                return taken
        return Taken.ALL

    def _asks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The limits that concern the job, each with what the job itself knows of it: the key's first. So a job that
        waits for its key keeps no place of its queue from the others."""
        concurrency = self._spec.concurrency
        if concurrency is not None:
            # What the job says that was accepted last holds, whatever comes back to be tried again after it.
            self._carry.limit_at = self._carry.limit_at or _millis_of_start()
            ask = {"limit": concurrency.limit, "limit_at": self._carry.limit_at}
            yield limit_of_key(concurrency.key), ask
        if self._queue_may_be_limited():
            yield limit_of_queue(self._spec.queue), {}

    def _queue_may_be_limited(self) -> bool:
        """What this worker knows, when it is decided for the first time; ever after what its history says. A mark is
        written when the answer is yes: a queue without a limit costs nothing."""
        if not workflow.unsafe.is_replaying() and not may_be_limited(self._spec.queue):
            return False
        return workflow.patched(f"queue-limit-{self._times}")

    async def _take(self, limit_id: str, ask: dict[str, Any], job: Taker, left: timedelta | None) -> Taken:
        self._carry.asks += 1
        self._carry.turn_at = self._carry.turn_at or workflow.now()
        self._asked[limit_id] = self._carry.asks
        job.say_waiting()
        until = None if left is None else workflow.now() + left
        again = _ASK_AGAIN
        while limit_id not in self._has:
            priority = job.current_priority
            there, cancelled = await surely(self._ask(limit_id, priority, ask))
            if cancelled:
                raise asyncio.CancelledError
            if not there:
                del self._asked[limit_id]
                break
            span = again if until is None else min(again, until - workflow.now())
            again = min(2 * again, _LONGEST)
            if span > timedelta(0):
                await job.wait(
                    lambda asked=priority: (  # type: ignore[misc]
                        limit_id in self._has or job.moved or job.current_priority != asked
                    ),
                    span,
                )
            if limit_id in self._has:
                break
            if job.moved:
                return Taken.MOVED
            if until is not None and until <= workflow.now():
                return Taken.LATE
            if workflow.info().is_continue_as_new_suggested():
                return Taken.FRESH_HISTORY
        return Taken.MOVED if job.moved else Taken.ALL

    async def _ask(self, limit_id: str, priority: int, ask: dict[str, Any]) -> bool:
        """Whether there is such a limit."""
        turn_at = self._carry.turn_at or workflow.now()
        asked = self._place(limit_id) | {"priority": priority, "since": _millis(turn_at)}
        asked |= {"lease": self._spec.lease.total_seconds()} | ask
        return bool(await self._call(ASK_PLACE if ask else ASK_QUEUE_PLACE, limit_id, asked))

    async def leave(self) -> bool:
        """Leaves every place, and every line; whether the job was cancelled meanwhile."""
        asked, self._has = self.limits, set()
        cancelled = False
        for limit_id in asked:
            _, interrupted = await surely(self._call(LEAVE_PLACE, limit_id, self._place(limit_id)))
            cancelled |= interrupted
        self._asked = {}
        return cancelled

    def lose_turn(self) -> None:
        """The next attempt queues up anew."""
        self._carry.turn_at = None

    def _place(self, limit_id: str) -> dict[str, Any]:
        return {"job": workflow.info().workflow_id, "chain": _chain(), "number": self._asked[limit_id]}

    async def _call(self, name: str, limit_id: str, said: dict[str, Any]) -> Any:
        return await workflow.execute_local_activity(
            name,
            args=[limit_id, said],
            start_to_close_timeout=CALL,
            retry_policy=AGAIN,
            summary=" ".join(scope_of(limit_id)),
        )


def _chain() -> str:
    return chain_of(workflow.info().first_execution_run_id)


def _millis_of_start() -> int:
    return _millis(workflow.info().workflow_start_time)


def _millis(at: Any) -> int:
    return int((at - EPOCH) // _MILLISECOND)
