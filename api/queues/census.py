"""A census of the open jobs: each is in one bucket, and the buckets add up.

Jobs due later are known by the index; what a due one is doing takes a look at each (`api.jobs.looking`). Of more than
it looks at, the rest is taken to be like those, and the census says that it is approximate.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from temporalio.client import Client

from api.jobs import query
from api.jobs.counting import scale
from api.jobs.filters import JobFilter
from api.jobs.index import Index, Row
from api.jobs.looking import Bounds, Looking
from api.queues.buckets import READY, Bucket, bucket_of, ready_at
from api.queues.strata import Crowd, Stratum, strata
from api.together import together
from duetime import attributes
from duetime.contracts.job import JobSpec
from duetime.jobs.facts import Facts

#: A figure of many is an estimate anyhow, and this is asked for often.
_BOUNDS = Bounds(answers=3, reading=1.0, looked_at=1_000, looking=1.5)
#: The index lags and clocks differ: what is due within this time is looked at as well.
_SOON = timedelta(seconds=2)
#: Queues that are counted one by one.
_CROWDED = 30
#: Jobs that speak for one that was not looked at.
_LIKE = 100

Key = Callable[["Resident"], str | None]


@dataclass(frozen=True)
class Resident:
    """An open job in the census. `facts` are there when it was looked at; others are due later."""

    queue: str
    kind: str
    fairness_key: str | None
    facts: Facts | None = None
    #: It was not looked at: the facts are another's.
    guessed: bool = False

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
    parts: tuple[Part, ...]

    @property
    def is_exact(self) -> bool:
        return all(part.exact for part in self.parts)

    @property
    def total(self) -> int:
        return sum(part.total for part in self.parts)

    @property
    def looked_at(self) -> Iterator[tuple[Resident, Facts]]:
        """The jobs that were looked at, and their facts."""
        for part in self.parts:
            for one in part.residents:
                if one.facts is not None and not one.guessed:
                    yield one, one.facts

    def queues(self) -> set[str]:
        return {resident.queue for part in self.parts for resident in part.residents}

    def tally(self, key: Key, paused: Set[str]) -> dict[str | None, dict[Bucket, int]]:
        """How many jobs are in each bucket, by what `key` says of them, when these queues are paused."""
        found: dict[str | None, dict[Bucket, int]] = {}
        for part in self.parts:
            counted = Counter((key(one), one.bucket(self.taken_at, paused)) for one in part.residents)
            for (name, bucket), count in scale(counted, part.total).items():
                found.setdefault(name, dict.fromkeys(Bucket, 0))[bucket] += count
        return found

    def oldest(self, key: Key) -> dict[str | None, datetime]:
        """Since when the job that waits longest could have run, by what `key` says of it."""
        found: dict[str | None, datetime] = {}
        for one, facts in self.looked_at:
            if one.bucket(self.taken_at, frozenset()) in READY:
                since = ready_at(facts)
                found[key(one)] = min(found.get(key(one), since), since)
        return found


class Counters:
    """Takes censuses."""

    def __init__(self, client: Client, bounds: Bounds = _BOUNDS) -> None:
        self._bounds = bounds
        self._index = Index(client)
        self._looking = Looking(client, self._index, bounds)

    async def take(self, queue: str | None = None) -> Census:
        """The open jobs of one queue, or of all."""
        now = datetime.now(UTC)
        jobs = query.jobs(JobFilter(queue=queue))
        later_text = query.all_of(jobs, query.scheduled(now + _SOON))
        due, later, strays = await asyncio.gather(
            self._due(query.all_of(jobs, query.due(now + _SOON)), queue),
            self._later(later_text) if queue is None else self._later_on(queue, later_text),
            self._strays(queue) if queue is not None else _none(),
        )
        return Census(datetime.now(UTC), (*due, *later, *strays))

    async def _due(self, text: str, queue: str | None) -> list[Part]:
        crowds, everyone = await self._crowds(text, peel=queue is None)
        drawn = strata(crowds, self._bounds.looked_at)
        seen, all_seen = await self._looking.look([row for stratum in drawn for row in stratum.drawn])
        facts = {row.run_id: found for row, found in seen}
        if everyone and all_seen and all(len(one.drawn) == len(one.rows) for one in drawn):
            residents = tuple(_resident(row, found) for row, found in seen if found.is_open)
            return [Part(residents, len(residents))]
        anybody = [found for _, found in seen if found.is_open]
        return [_estimate(stratum, facts, anybody) for stratum in drawn]

    async def _later(self, text: str) -> list[Part]:
        crowds, everyone = await self._crowds(text, peel=True)
        return [Part(tuple(map(_resident, one.rows)), one.total, everyone) for one in crowds]

    async def _later_on(self, queue: str, text: str) -> list[Part]:
        """On one queue they need not be told apart."""
        return [Part((Resident(queue, "", None),), await self._index.count(text))]

    async def _crowds(self, text: str, *, peel: bool) -> tuple[list[Crowd], bool]:
        """What the index has, and whether that is all. Of more than is read, the first; and, with `peel`, those of the
        queues that are not among them: one queue's flood must not hide another's jobs."""
        rows, everyone = await self._looking.rows(text)
        if everyone:
            return [Crowd(rows, len(rows))] if rows else [], True
        by_queue: dict[str, list[Row]] = {}
        for row in rows:
            by_queue.setdefault(row.queue or "", []).append(row)
        names = sorted(by_queue.keys() - {""})
        total = self._index.count(text)
        if not peel or len(names) > _CROWDED:
            return [Crowd(rows, max(await total, len(rows)))], False
        others_text = query.all_of(text, query.without(attributes.QUEUE, names))
        whole, (others, _) = await asyncio.gather(total, self._looking.rows(others_text))
        counts = await together(
            self._index.count(query.all_of(text, query.within(attributes.QUEUE, [name]))) for name in names
        )
        crowds = [Crowd(by_queue[name], max(count, 1)) for name, count in zip(names, counts, strict=True)]
        crowds += [Crowd(by_queue[""], len(by_queue[""]))] if "" in by_queue else []
        left = whole - sum(crowd.total for crowd in crowds)
        return [*crowds, *([Crowd(others, max(left, len(others)))] if others else [])], False

    async def _strays(self, queue: str) -> list[Part]:
        """Jobs that were started without the API and are not in the index yet: only they know their queue."""
        text = query.all_of(query.jobs(JobFilter()), query.no_due_time())
        rows, _ = await self._looking.sample(text)
        seen, _ = await self._looking.look([row for row in rows if row.queue is None])
        strays = [_resident(row, facts) for row, facts in seen if facts.is_open]
        mine = tuple(stray for stray in strays if stray.queue == queue)
        return [Part(mine, len(mine))] if mine else []


async def _none() -> list[Part]:
    return []


def _estimate(stratum: Stratum, facts: Mapping[str, Facts], anybody: Sequence[Facts]) -> Part:
    """What a stratum holds, by those of it that were looked at; of one that was not, it is like the others."""
    seen = [row for row in stratum.drawn if row.run_id in facts]
    residents = tuple(_resident(row, facts[row.run_id]) for row in seen if facts[row.run_id].is_open)
    if seen:
        return Part(residents, round(stratum.total * len(residents) / len(seen)), exact=False)
    like = anybody[:_LIKE]
    guessed = tuple(replace(_resident(stratum.rows[0], one), guessed=True) for one in like)
    return Part(guessed, round(stratum.total) if guessed else 0, exact=False)


def _resident(row: Row, facts: Facts | None = None) -> Resident:
    spec = (facts.spec if facts else None) or JobSpec(kind="unknown")
    return Resident(
        queue=row.queue or spec.queue,
        kind=row.kind or spec.kind,
        fairness_key=row.fairness_key or spec.fairness_key,
        facts=facts,
    )
