"""What the figures of a queue mean: one word, and a sentence for people. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from api.queues.lanes import Lane
from api.queues.workers import Worker, busy_of, slots_of
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.queues import Backlog, Health

#: A job due a moment ago is on its way to its queue.
ON_ITS_WAY = timedelta(seconds=5)
_KINDS = 3
#: Starts a second, below which nothing is foreseen.
_SLOWEST = 0.01


@dataclass(frozen=True)
class Standing:
    """What a verdict is about."""

    lane: Lane
    jobs: Backlog
    workers: Sequence[Worker]
    orchestrators: Sequence[Worker]
    now: datetime
    oldest_ready_at: datetime | None = None
    #: Kinds that its workers have no handler for, and how many jobs of each they gave back.
    unhandled: Mapping[str, int] = field(default_factory=dict)

    @property
    def oldest_age(self) -> timedelta | None:
        return age(self.oldest_ready_at, self.now)

    @property
    def waiting_long(self) -> bool:
        return self.oldest_age is not None and self.oldest_age > ON_ITS_WAY

    @property
    def slots(self) -> int | None:
        return slots_of(self.workers)

    @property
    def busy(self) -> int | None:
        return busy_of(self.workers)

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken, or has to be: workers that do not say are full when a job waits long."""
        if self.slots is None or self.busy is None:
            return self.jobs.queued > 0 and self.waiting_long
        return bool(self.workers) and self.busy >= self.slots


def health_of(at: Standing) -> Health:
    """The first thing that keeps jobs of this queue from running."""
    if at.lane.limit.is_paused:
        return Health.PAUSED
    if at.jobs.overdue and at.waiting_long and not at.orchestrators:
        return Health.NO_ORCHESTRATOR
    if not at.workers:
        return Health.NO_WORKER
    limited = Health.CONCURRENCY_LIMITED if at.jobs.limited else Health.OK
    idle = Health.NO_HANDLER if at.unhandled else limited
    if not at.jobs.queued:
        return Health.BEHIND if at.jobs.overdue and at.waiting_long else idle
    if at.lane.is_limiting and at.lane.rate is not None:
        return Health.RATE_LIMITED
    if at.is_full:
        return Health.WORKERS_FULL
    return Health.BEHIND if at.waiting_long and at.lane.arrivals > at.lane.starts else idle


def drains_in(at: Standing) -> timedelta | None:
    """How long until nothing waits at the pace of now; `None` when it would not, or not in a time worth telling: the
    pace is an average that fades, and what is left of it a minute later means nothing."""
    waits = at.jobs.overdue + at.jobs.queued
    if not waits:
        return timedelta(0)
    gain = at.lane.starts - at.lane.arrivals
    blocked = at.lane.limit.is_paused or not at.workers
    return None if blocked or gain < _SLOWEST else timedelta(seconds=round(waits / gain, 1))


def sentence(at: Standing) -> str:
    """The verdict."""
    return f"{_what_waits(at)}: {_why(at)}" if at.jobs.ready else _idle(at)


def _what_waits(at: Standing) -> str:
    count, oldest = at.jobs.ready, in_words(at.oldest_age)
    return f"1 job has waited for {oldest}" if count == 1 else f"{count:,} jobs wait, the oldest for {oldest}"


def _why(at: Standing) -> str:
    name, lane = f"`{at.lane.name}`", at.lane
    match health_of(at):
        case Health.PAUSED:
            return f"the queue {name} is paused{_since(lane)}"
        case Health.NO_ORCHESTRATOR:
            either = "" if at.workers else ", which no worker polls either"
            return f"no worker runs the workflows (queue `{ORCHESTRATION_QUEUE}`), so nothing comes to {name}{either}"
        case Health.NO_WORKER:
            return f"no worker polls queue {name}"
        case Health.RATE_LIMITED:
            return f"queue {name} is limited to {lane.rate:g} starts a second{_until_drained(at)}"
        case Health.WORKERS_FULL:
            return f"{_workers(at)} busy{_until_drained(at)}"
        case Health.BEHIND if not at.jobs.queued:
            who = f"the workers that run the workflows (queue `{ORCHESTRATION_QUEUE}`)"
            return f"{who} do not bring them to {name} in time"
        case Health.BEHIND:
            return f"{lane.arrivals:.1f} come to {name} every second, and {lane.starts:.1f} are started"
        case Health.NO_HANDLER:
            return _unhandled(at)
    if at.jobs.paused and not at.jobs.queued:
        return "paused one by one, through Temporal"
    return f"{_serving(at)}{_until_drained(at)}"


def _idle(at: Standing) -> str:
    if at.lane.limit.is_paused:
        return f"nothing waits; the queue is paused{_since(at.lane)}"
    if not at.workers:
        return f"nothing waits, and no worker polls queue `{at.lane.name}`"
    if at.unhandled:
        return _unhandled(at)
    if count := at.jobs.limited:
        waits = "1 job waits" if count == 1 else f"{count:,} jobs wait"
        return f"{waits} for a place under a concurrency limit; {_serving(at)}"
    return f"nothing waits; {_serving(at)}"


def _since(lane: Lane) -> str:
    limit = lane.limit
    since = f" since {limit.paused_since:%Y-%m-%d %H:%M:%S} UTC" if limit.paused_since else ""
    by = f" by {limit.note.by}" if limit.note.by else ""
    return since + by + (f" ({limit.note.reason})" if limit.note.reason else "")


def _workers(at: Standing) -> str:
    count = len(at.workers)
    who = "1 worker" if count == 1 else f"{count} workers"
    if at.slots is None:
        return f"{who}, which {'does' if count == 1 else 'do'} not tell their slots, must be"
    return f"the only slot of {who} is" if at.slots == 1 else f"all {at.slots} slots of {who} are"


def _unhandled(at: Standing) -> str:
    count, kinds = sum(at.unhandled.values()), ", ".join(repr(kind) for kind in sorted(at.unhandled)[:_KINDS])
    waits = "1 job waits" if count == 1 else f"{count:,} jobs wait"
    return f"{waits} for a worker that has a handler for {kinds}; {_serving(at)}"


def _serving(at: Standing) -> str:
    return f"{len(at.workers)} worker{' serves' if len(at.workers) == 1 else 's serve'} it"


def _until_drained(at: Standing) -> str:
    left = drains_in(at)
    return f"; done in about {in_words(left)} at this pace" if left else ""


def in_words(span: timedelta | None) -> str:
    """A span as one says it: `40 s`, `1 min`, `110 min`, `3 h`, `2 days`."""
    seconds = 0 if span is None else max(0, round(span.total_seconds()))
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (seconds >= size and unit == "min"):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def age(since: datetime | None, now: datetime) -> timedelta | None:
    """How long ago that was; never negative."""
    return None if since is None else max(timedelta(0), now - since)
