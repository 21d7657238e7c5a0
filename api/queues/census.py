"""A census of the open jobs: each is in one bucket, and the buckets add up.

Jobs due later are known by the index; what a due one is doing takes a look at each (`api.jobs.looking`). Of more than
it looks at, the rest is taken to be like those, and the census says that it is approximate.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client

from api.jobs import query
from api.jobs.counting import scale
from api.jobs.filters import JobFilter
from api.jobs.index import Index, Row
from api.jobs.looking import Bounds, Looking
from api.queues.buckets import READY, Bucket, bucket_of, ready_at
from duetime.contracts.job import JobSpec
from duetime.jobs.facts import Facts

#: A figure of many is an estimate anyhow, and this is asked for often.
_BOUNDS = Bounds(answers=3, reading=1.0, looked_at=1_000, looking=1.5)
#: The index lags and clocks differ: what is due within this time is looked at as well.
_SOON = timedelta(seconds=2)

Key = Callable[["Resident"], str | None]


@dataclass(frozen=True)
class Resident:
    """An open job in the census. `facts` are there when it was looked at; others are due later."""

    queue: str
    kind: str
    fairness_key: str | None
    facts: Facts | None = None

    def bucket(self, now: datetime, paused: Set[str]) -> Bucket:
        """Where it is, given which queues are paused."""
        return bucket_of(self.facts, now, self.queue in paused) if self.facts else Bucket.SCHEDULED


@dataclass(frozen=True)
class Part:
    """Jobs that stand for `total` of them, exactly or nearly."""

    residents: tuple[Resident, ...] = ()
    total: int = 0
    exact: bool = True


@dataclass(frozen=True)
class Census:
    """Open jobs at one moment."""

    taken_at: datetime
    due: Part
    later: Part

    @property
    def is_exact(self) -> bool:
        return self.due.exact and self.later.exact

    def queues(self) -> set[str]:
        return {resident.queue for part in (self.due, self.later) for resident in part.residents}

    def tally(self, key: Key, paused: Set[str]) -> dict[str | None, dict[Bucket, int]]:
        """How many jobs are in each bucket, by what `key` says of them, when these queues are paused."""
        found: dict[str | None, dict[Bucket, int]] = {}
        for part in (self.due, self.later):
            counted = Counter((key(one), one.bucket(self.taken_at, paused)) for one in part.residents)
            for (name, bucket), count in scale(counted, part.total).items():
                found.setdefault(name, dict.fromkeys(Bucket, 0))[bucket] += count
        return found

    def oldest(self, key: Key) -> dict[str | None, datetime]:
        """Since when the job that waits longest could have run, by what `key` says of it."""
        found: dict[str | None, datetime] = {}
        for one in self.due.residents:
            if one.facts is not None and one.bucket(self.taken_at, frozenset()) in READY:
                since = ready_at(one.facts)
                found[key(one)] = min(found.get(key(one), since), since)
        return found


class Counters:
    """Takes censuses."""

    def __init__(self, client: Client) -> None:
        self._index = Index(client)
        self._looking = Looking(client, self._index, _BOUNDS)

    async def take(self, queue: str | None = None) -> Census:
        """The open jobs of one queue, or of all."""
        now = datetime.now(UTC)
        jobs = query.jobs(JobFilter(queue=queue))
        later_text = query.all_of(jobs, query.scheduled(now + _SOON))
        due, later = await asyncio.gather(
            self._due(query.all_of(jobs, query.due(now + _SOON))),
            self._later(later_text) if queue is None else self._later_on(queue, later_text),
        )
        if queue is not None:
            due = await self._with_strays(due, queue)
        return Census(datetime.now(UTC), due, later)

    async def _due(self, text: str) -> Part:
        rows, everyone = await self._looking.sample(text)
        seen, all_seen = await self._looking.look(rows)
        residents = tuple(_resident(row, facts) for row, facts in seen if facts.is_open)
        if everyone and all_seen:
            return Part(residents, len(residents))
        return Part(residents, await self._index.count(text), exact=False)

    async def _later(self, text: str) -> Part:
        rows, everyone = await self._looking.rows(text)
        residents = tuple(_resident(row) for row in rows)
        return Part(residents, len(rows) if everyone else await self._index.count(text), everyone)

    async def _later_on(self, queue: str, text: str) -> Part:
        """On one queue they need not be told apart."""
        return Part((Resident(queue, "", None),), await self._index.count(text))

    async def _with_strays(self, due: Part, queue: str) -> Part:
        """With the jobs that were started without the API and are not in the index yet: only they know their queue."""
        text = query.all_of(query.jobs(JobFilter()), query.no_due_time())
        rows, _ = await self._looking.sample(text)
        seen, _ = await self._looking.look([row for row in rows if row.queue is None])
        strays = [_resident(row, facts) for row, facts in seen if facts.is_open]
        mine = tuple(stray for stray in strays if stray.queue == queue)
        return Part(due.residents + mine, due.total + len(mine), due.exact)


def _resident(row: Row, facts: Facts | None = None) -> Resident:
    spec = (facts.spec if facts else None) or JobSpec(kind="unknown")
    return Resident(
        queue=row.queue or spec.queue,
        kind=row.kind or spec.kind,
        fairness_key=row.fairness_key or spec.fairness_key,
        facts=facts,
    )
