"""Whether a backlog takes long: by what came and what ended in the last minutes.

The rates of the server span half a minute, in most of which a queue that starts one job a minute has none; and whoever
waits until a job is old hears of a backlog when it is too late to do something.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt

from api.jobs import query
from api.jobs.filters import JobFilter
from api.jobs.index import Index
from api.queues.verdict import in_words
from duetime import attributes
from duetime.contracts.queues import Health, QueueView
from duetime.contracts.states import FINAL

#: A job that waits longer than this for a worker that lives is worth a word, and so is one that will.
LONG = timedelta(minutes=15)
#: What is counted. A backlog that is younger has not shown its pace: most bursts are over by then.
SPAN = timedelta(minutes=5)
#: Queues that are looked at, those with the oldest jobs first.
_MOST = 20
#: Events that may have come about in a span in which there was none.
_UNSEEN = 3
#: Waits for other things than a pace, which are told elsewhere.
_OTHER = (Health.PAUSED, Health.NO_ORCHESTRATOR, Health.NO_WORKER, Health.NO_HANDLER)


@dataclass(frozen=True)
class Trend:
    """Jobs of a queue that became due, and due ones that ended, in the last `SPAN`."""

    came: int
    ended: int

    @property
    def grows(self) -> bool:
        """Whether more came than ended, and by more than chance makes of two that are equal."""
        return self.came - self.ended > 2 * sqrt(self.came + self.ended)

    def takes(self, waits: int) -> timedelta | None:
        """How long it takes at this pace until nothing waits; `None` when it never ends."""
        gain = self.ended - self.came
        return SPAN * waits / gain if gain > 0 else None

    def takes_at_least(self, waits: int, running: int) -> timedelta:
        """The same, if no more came, and as many ended as may have with this many that run: chance, or jobs that take
        as long as the span, do not make a backlog slow."""
        return SPAN * waits / max(self.ended + max(_UNSEEN, 2 * sqrt(self.ended)), running)


def is_suspect(queue: QueueView) -> bool:
    """Whether jobs wait for workers that live, and for longer than a burst."""
    waits = bool(queue.workers) and queue.health not in _OTHER and queue.jobs.ready > 0
    return waits and queue.oldest_age is not None and queue.oldest_age > SPAN


def slowness(queue: QueueView, trend: Trend | None) -> str | None:
    """What there is to say of a queue whose jobs wait too long, or will; `None` when they do not."""
    if not is_suspect(queue):
        return None
    is_old = queue.oldest_age is not None and queue.oldest_age > LONG
    if trend is None:
        return queue.verdict if is_old else None
    waits = queue.jobs.ready
    least = trend.takes_at_least(waits, queue.jobs.running)
    if not (is_old or trend.grows or least > LONG):
        return None
    pace = f"{queue.verdict}. In the last {in_words(SPAN)} {trend.came:,} came and {trend.ended:,} ended"
    if trend.grows:
        return f"{pace}: the backlog grows"
    left = trend.takes(waits)
    return f"{pace}, which makes about {in_words(left)}" if left else f"{pace}: it does not get shorter"


async def trends(index: Index, queues: list[QueueView], now: datetime) -> Mapping[str, Trend]:
    """By name, those of the queues that need a look."""
    suspects = sorted(filter(is_suspect, queues), key=lambda queue: queue.oldest_age or SPAN, reverse=True)
    names = [queue.name for queue in suspects[:_MOST]]
    counted = await asyncio.gather(*(_trend(index, name, now) for name in names))
    return dict(zip(names, counted, strict=True))


async def _trend(index: Index, name: str, now: datetime) -> Trend:
    jobs, since, due_at = query.jobs(JobFilter(queue=name)), query.moment(now - SPAN), attributes.DUE_AT.name
    was_due = f"{due_at} <= {query.moment(now)}"
    came, ended = await asyncio.gather(
        index.count(query.all_of(jobs, query.NOT_CONTINUED, was_due, f"{due_at} > {since}")),
        index.count(query.all_of(jobs, query.finished(FINAL), was_due, f"CloseTime > {since}")),
    )
    return Trend(came, ended)
