"""Looks at many due jobs: what each is doing, which the index does not know.

As many are looked at as a bound allows; when there are more, these are drawn from them. A look at each takes the server
about a millisecond, and a caller waits: all of it is bounded in time as well.
"""

import asyncio
import copy
import secrets
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from api.jobs.index import MOST, Index, Row
from api.problems import unavailable
from api.together import together
from duetime.contracts.record import View
from duetime.contracts.states import State
from duetime.jobs.facts import Facts, fetch, glance, with_input
from duetime.jobs.state import state_of

_AT_ONCE = 32


@dataclass(frozen=True)
class Bounds:
    """How much is read in one go: answers of the index (of `page` rows each), and jobs looked at; and for how many
    seconds each of the two."""

    answers: int = 10
    reading: float = 1.5
    looked_at: int = 2_000
    looking: float = 2.5
    #: Rows in one answer.
    page: int = MOST


class Looking:
    """Looks jobs up, a bounded number at the same time."""

    def __init__(self, client: Client, index: Index, bounds: Bounds | None = None) -> None:
        self._client = client
        self._index = index
        self._bounds = bounds or Bounds()
        self._places = asyncio.Semaphore(_AT_ONCE)

    def through(self, index: Index) -> "Looking":
        """The same over another index; how many are looked at together stays one bound."""
        other = copy.copy(self)
        other._index = index
        return other

    async def rows(self, text: str) -> tuple[list[Row], bool]:
        """What the index has for a query, and whether this is all."""
        enough = time.monotonic() + self._bounds.reading
        rows, token = await self._index.rows(text, self._bounds.page)
        for _ in range(self._bounds.answers - 1):
            if not token or time.monotonic() > enough:
                break
            more, token = await self._index.rows(text, self._bounds.page, token)
            rows += more
        return rows, not token

    async def sample(self, text: str) -> tuple[list[Row], bool]:
        """Jobs to look at, in no order, and whether these are all that the query holds."""
        rows, all_rows = await self.rows(text)
        most = self._bounds.looked_at
        everyone = all_rows and len(rows) <= most
        drawn = rows if everyone else secrets.SystemRandom().sample(rows, min(len(rows), most))
        return drawn, everyone

    async def look(self, rows: list[Row]) -> tuple[list[tuple[Row, Facts]], bool]:
        """The rows with their facts, and whether all could be looked at in time. Those that are gone are left out."""
        seen: list[tuple[Row, Facts]] = []

        async def look(row: Row) -> None:
            async with self._places:
                facts = await self._facts(row)
            if facts is not None:
                seen.append((row, facts))

        try:
            async with asyncio.timeout(self._bounds.looking):
                await together(look(row) for row in rows)
        except TimeoutError:
            if not seen:
                raise unavailable("the states of due jobs could not be read in time") from None
            return seen, False
        return seen, True

    async def _facts(self, row: Row) -> Facts | None:
        try:
            if row.due_at is None:
                facts = await fetch(self._client, row.id, row.run_id)
            else:
                facts = await glance(self._client, row.id, row.run_id)
                if facts.view is None:
                    facts = replace(facts, view=View(due_at=row.due_at))
                    if state_of(facts, datetime.now(UTC)) is State.QUEUED and facts.dispatched is None:
                        # Its workflow has not run yet: whether it comes after other jobs, its input alone knows.
                        facts = await with_input(self._client, facts)
            if facts.status is WorkflowExecutionStatus.CONTINUED_AS_NEW:
                facts = await fetch(self._client, row.id)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        return facts
