"""Everything that is known of queues at one moment, gathered from the server: jobs, limits, rates, workers, kinds."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from temporalio.client import Client

from api.jobs import query
from api.jobs.filters import JobFilter
from api.jobs.index import MOST, Index
from api.kinds.known import Known
from api.queues.census import Census, Counters
from api.queues.lanes import Lane, read_lane
from api.queues.shared import Shared
from api.queues.workers import Signs, Told, Worker, living
from api.together import together
from duetime.contracts.concurrency import QueueConcurrency
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.states import FINAL
from duetime.queue_concurrency import queue_concurrencies, queue_concurrency

_LAST_MINUTE = timedelta(minutes=1)
_AT_ONCE = 16
#: Queues looked at one by one that are remembered.
_REMEMBERED = 1_000


@dataclass(frozen=True)
class Sight:
    """What was seen, by queue."""

    census: Census
    lanes: Mapping[str, Lane]
    workers: Mapping[str, list[Worker]]
    kinds: Mapping[str, list[str]]
    #: Jobs that ended, a second.
    completions: Mapping[str, float]
    #: Concurrency limits of queues.
    limits: Mapping[str, QueueConcurrency] = field(default_factory=dict)

    @property
    def paused(self) -> frozenset[str]:
        return frozenset(name for name, lane in self.lanes.items() if lane.limit.is_paused)

    @property
    def orchestrators(self) -> list[Worker]:
        return self.workers.get(ORCHESTRATION_QUEUE, [])


class Board:
    """Looks at queues."""

    def __init__(self, client: Client, known: Known) -> None:
        self._client = client
        self._known = known
        self._index = Index(client)
        self._counters = Counters(client)
        self._signs = Signs(client)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._all = Shared(self._look)
        self._single: dict[str, Shared[Sight]] = {}

    async def all(self, max_age: float = 0.0) -> Sight:
        """All queues, as they were at most `max_age` seconds ago."""
        return await self._all.get(max_age)

    async def queue(self, name: str) -> Sight:
        """One queue now, whether or not anything is known of it."""
        if name not in self._single:
            if len(self._single) >= _REMEMBERED:
                self._single.clear()
            self._single[name] = Shared(lambda: self._look(name))
        return await self._single[name].get()

    async def workers(self, name: str) -> list[Worker]:
        """Who serves one queue."""
        lane, told = await asyncio.gather(self._lane(name), self._signs.read(name))
        return self._living(lane, told)

    async def lane(self, name: str) -> Lane:
        """What the server knows of one queue."""
        return await self._lane(name)

    async def _look(self, name: str | None = None) -> Sight:
        census, told, entries, completions, limits = await asyncio.gather(
            self._counters.take(name),
            self._signs.read(),
            self._known.all(),
            self._completions(name),
            self._limits(name),
        )
        kinds: dict[str, list[str]] = {}
        for kind, queues in sorted(entries.items()):
            for queue in queues:
                kinds.setdefault(queue, []).append(kind)
        named = {name} if name else census.queues() | set(kinds) | set(limits)
        polled = set() if name else {sign.queue for sign in told.signs}
        wanted = sorted(named | polled | {ORCHESTRATION_QUEUE})
        lanes = {lane.name: lane for lane in await together(self._lane(queue) for queue in wanted)}
        workers = {queue: self._living(lane, told) for queue, lane in lanes.items()}
        # A queue that is known for its workers alone is one only as long as they live.
        served = {queue for queue in polled - {ORCHESTRATION_QUEUE} if workers[queue]}
        return Sight(
            census=census,
            lanes={queue: lanes[queue] for queue in sorted(named | served)},
            workers=workers,
            kinds=kinds,
            completions=completions,
            limits=limits,
        )

    async def _lane(self, name: str) -> Lane:
        async with self._places:
            return await read_lane(self._client, name)

    def _living(self, lane: Lane, told: Told) -> list[Worker]:
        mine = Told([sign for sign in told.signs if sign.queue == lane.name], told.is_all)
        return living(mine, lane.polls, self._signs.silent(mine.signs), datetime.now(UTC))

    async def _limits(self, name: str | None) -> dict[str, QueueConcurrency]:
        if name is None:
            return await queue_concurrencies(self._client)
        found = await queue_concurrency(self._client, name)
        return {name: found} if found else {}

    async def _completions(self, name: str | None) -> dict[str, float]:
        """Jobs that ended in the last minute, a second, by queue; of very many, those that ended last tell."""
        now = datetime.now(UTC)
        ended = f"CloseTime > {query.moment(now - _LAST_MINUTE)}"
        text = query.all_of(query.jobs(JobFilter(queue=name)), query.finished(FINAL), ended)
        rows, more = await self._index.rows(text, MOST)
        span = _LAST_MINUTE
        if more and rows[-1].closed_at:
            span = max(now - rows[-1].closed_at, timedelta(seconds=1))
        counted = Counter(row.queue for row in rows if row.queue)
        return {queue: count / span.total_seconds() for queue, count in counted.items()}
