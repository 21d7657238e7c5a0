"""Failed jobs by the type of their error, which the index does not know: a look at the end of each, up to a bound.

When there are more, those that are looked at are drawn from them, and the rest is taken to be like them.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.jobs import query
from api.jobs.counting import scale
from api.jobs.filters import JobFilter
from api.jobs.index import Index, Row
from api.jobs.looking import Bounds, Looking
from api.patience import answer_in_time
from api.problems import invalid, unavailable
from api.security.caller import Caller
from api.together import together
from duetime.contracts.bulk import ErrorGroup, merged
from duetime.contracts.record import cut
from duetime.contracts.states import State
from duetime.contracts.view import ErrorGroupView, JobCounts
from duetime.jobs.facts import error_of

#: The states of jobs that have an error.
WITH_ERROR = frozenset({State.FAILED, State.EXPIRED})

_AT_ONCE = 32
_MESSAGE = 200
_UNKNOWN = "(unknown)"


@dataclass
class _Seen:
    """What was seen, by type: how many, and one of them."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)


class ErrorCounting:
    """Counts errors."""

    def __init__(self, client: Client, index: Index | None = None, bounds: Bounds | None = None) -> None:
        self._client = client
        self._index = index or Index(client)
        self._bounds = bounds or Bounds()

    def seen_by(self, caller: Caller) -> "ErrorCounting":
        """The same for another caller."""
        return ErrorCounting(self._client, self._index.seen_by(caller), self._bounds)

    async def count(self, wanted: JobFilter) -> JobCounts:
        """The failed and expired jobs that `wanted` holds, by type of error; a `422` problem for other states."""
        states = frozenset(wanted.state) or WITH_ERROR
        if states - WITH_ERROR:
            message = "counts by error are of jobs in the states failed and expired: ask for these"
            raise invalid([{"pointer": "query state", "message": message}])
        return await answer_in_time(self._count(wanted, states))

    async def _count(self, wanted: JobFilter, states: frozenset[State]) -> JobCounts:
        text = query.all_of(query.jobs(wanted), query.NOT_CONTINUED, query.finished(states))
        total = await self._index.count(text)
        sample, everyone = await Looking(self._client, self._index, self._bounds).sample(text)
        seen, in_time = await self._look(sample)
        # The index may have grown between the two looks at it.
        total = sum(seen.counts.values()) if everyone and in_time else total
        groups: list[ErrorGroup] = []
        for name, count in scale(seen.counts, total).items():
            example, message = seen.examples[name]
            groups = merged(groups, [ErrorGroup(type=name, count=count, example=example, message=message)])
        views = [ErrorGroupView.model_validate(group.model_dump()) for group in groups]
        return JobCounts(total=total, errors=views, approximate=not (everyone and in_time))

    async def _look(self, rows: list[Row]) -> tuple[_Seen, bool]:
        """What could be seen in time, and whether that is all."""
        seen, places = _Seen(), asyncio.Semaphore(_AT_ONCE)

        async def look(row: Row) -> None:
            async with places:
                try:
                    error = await error_of(self._client, row.id, row.run_id)
                except RPCError as fault:
                    if fault.status is RPCStatusCode.NOT_FOUND:
                        return
                    raise
            name = error.type if error else _UNKNOWN
            seen.counts[name] += 1
            seen.examples.setdefault(name, (row.id, cut(error.message, _MESSAGE) if error else ""))

        try:
            async with asyncio.timeout(self._bounds.looking):
                await together(look(row) for row in rows)
        except TimeoutError:
            if not seen.counts:
                raise unavailable("the errors of failed jobs could not be read in time") from None
            return seen, False
        return seen, True
