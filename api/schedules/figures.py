"""The numbers of each schedule for monitoring: those that `GET /v1/schedules/{id}` tells, some minutes old at most.

The server tells them for one schedule a call. So each look asks about a few, those longest unheard of first, and keeps
what it heard of the others.
"""

import asyncio
import heapq
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from temporalio.client import Client
from temporalio.service import RPCError

from activities.schedules.runs import last_runs
from activities.schedules.server import look
from api.schedules.reading import ScheduleReader
from duetime.contracts.schedule_book import Server
from duetime.contracts.schedule_view import ScheduleState, ScheduleSummary

#: Schedules whose numbers are told; the others are counted alone.
MOST = 500
#: Seconds that numbers are not asked for again.
_FRESH = 30.0
#: Schedules in one look, how many of them at once, and its seconds; who is not heard of in time has the next turn.
_PORTION = 25
_TOGETHER = 5
_PATIENCE = 2.0

log = logging.getLogger("duetime.api")


@dataclass(frozen=True)
class Figures:
    """What is known of one schedule. `server` is empty once the server has forgotten a finished one."""

    server: Server
    last_success: datetime | None = None
    #: Times that the server skipped after downtime, and the schedule's entity made up.
    made_up_of_skipped: int = 0


@dataclass(frozen=True)
class Tally:
    """All schedules: how many stand how, the numbers of the first of them, and how many others there are."""

    states: Counter[ScheduleState] = field(default_factory=Counter)
    figures: dict[str, Figures] = field(default_factory=dict)
    left_out: int = 0


class Teller:
    """Looks at `summaries`, all schedules that there are, and `ask`s about one after the other."""

    def __init__(
        self,
        summaries: Callable[[], AsyncIterator[ScheduleSummary]],
        ask: Callable[[str], Awaitable[Figures]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._summaries, self._ask, self._clock = summaries, ask, clock
        self._known: dict[str, Figures] = {}
        self._asked_at: dict[str, float] = {}

    async def look(self) -> Tally:
        """How all stand now, with the numbers that are known after asking about a few."""
        there = {schedule.id: schedule.state async for schedule in self._summaries()}
        told = chosen(there.items())
        self._known = {one: self._known[one] for one in told if one in self._known}
        self._asked_at = {one: self._asked_at[one] for one in told if one in self._asked_at}
        await self._ask_some(told)
        figures = {one: self._known[one] for one in told if one in self._known}
        return Tally(Counter(there.values()), figures, len(there) - len(told))

    async def _ask_some(self, ids: Iterable[str]) -> None:
        now, turns = self._clock(), asyncio.Semaphore(_TOGETHER)
        due = [one for one in ids if now - self._asked_at.get(one, float("-inf")) >= _FRESH]
        portion = heapq.nsmallest(_PORTION, due, key=lambda one: self._asked_at.get(one, float("-inf")))

        async def hear(schedule_id: str) -> None:
            async with turns:
                self._asked_at[schedule_id] = now
                try:
                    self._known[schedule_id] = await self._ask(schedule_id)
                except RPCError as error:
                    log.warning("the metrics of schedule %r are not renewed: %s", schedule_id, error)

        try:
            async with asyncio.timeout(_PATIENCE):
                await asyncio.gather(*map(hear, portion))
        except TimeoutError:
            log.info("the server is slow to tell of schedules: metrics of some are renewed later")


def chosen(schedules: Iterable[tuple[str, ScheduleState]]) -> list[str]:
    """The ids of those whose numbers are told: by id, those that will not fire again after all others. Pure."""
    first = heapq.nsmallest(MOST, ((state is ScheduleState.FINISHED, one) for one, state in schedules))
    return [schedule_id for _, schedule_id in first]


async def figures_of(client: Client, schedule_id: str) -> Figures:
    """What the server and the search index tell of a schedule now."""
    server, successes, book = await asyncio.gather(
        look(client, schedule_id),
        last_runs(client, schedule_id, 1, "ExecutionStatus = 'Completed'"),
        ScheduleReader(client, "").find(schedule_id),
    )
    made_up = book.counted.made_up_of_skipped if book else 0
    return Figures(server, successes[0].closed_at if successes else None, made_up)
