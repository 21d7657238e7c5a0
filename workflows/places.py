"""Who has a place of a concurrency limit, and who waits for one: pure, carried out by the limit's workflow.

First come, first served within a priority. A place is held until its job leaves; for a job that cannot say so any more
somebody looks, at growing intervals.
"""

import heapq
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from activities.limit_places import GONE, IDLE
from duetime.contracts import limits
from duetime.contracts.concurrency import Ask, Changed, Holder, Left, Place
from duetime.contracts.concurrency import Line as LineView
from duetime.contracts.instants import EPOCH

#: How long after a grant the holder is looked at, and how long that grows: each look doubles it.
FIRST_LOOK, LONGEST_LOOK_AWAY = timedelta(seconds=10), timedelta(minutes=2)
#: Those that are due within this time are looked at together.
_TOGETHER = timedelta(seconds=5)
_HOLDERS_SHOWN = 20
#: What a job takes beside its id, in bytes, when all of it is handed to the next run.
_ROW = 100
_MILLISECOND = timedelta(milliseconds=1)


@dataclass
class _Waiter:
    chain: str
    number: int
    priority: int
    since: int
    lease: float


@dataclass
class _Holder:
    chain: str
    number: int
    lease: float
    granted_at: datetime
    look_at: datetime
    look_away: timedelta = field(default_factory=lambda: FIRST_LOOK)
    #: It was seen without an attempt under way: once may be a moment between two steps, twice is not.
    was_idle: bool = False


class Places:
    """The places of one limit. Jobs are told apart by id: of one id, only one can be open."""

    def __init__(self) -> None:
        #: `None` is as many as are wanted.
        self.limit: int | None = 1
        self._limit_at = 0
        self._waiters: dict[str, _Waiter] = {}
        self._holders: dict[str, _Holder] = {}
        #: Places of jobs that are gone, until their handlers have surely lost their leases.
        self._lapsing: list[tuple[str, datetime]] = []
        #: Holders that have to be told of their place.
        self._news: dict[str, None] = {}
        self._bytes = 0

    # -- what jobs say ------------------------------------------------------------------------------------

    def ask(self, ask: Ask, now: datetime) -> None:
        """A job wants a place, or wants it with another priority, or asks whether it has it by now."""
        self.change(Changed(limit=ask.limit, at=ask.limit_at))
        holder = self._holders.get(ask.job)
        if holder is not None and holder.chain == ask.chain:
            if holder.number <= ask.number:
                holder.number = ask.number
                self._news[ask.job] = None
            return
        if holder is not None:  # of a job that had the id before and has ended
            self._lapse(ask.job, now)
        waiter = self._waiters.get(ask.job)
        if waiter is not None and waiter.chain == ask.chain and waiter.number > ask.number:
            return
        if waiter is None:
            if self._bytes + _size(ask.job) > limits.LINE_BYTES:
                return  # It asks again.
            self._bytes += _size(ask.job)
        self._waiters[ask.job] = _Waiter(ask.chain, ask.number, ask.priority, ask.since, ask.lease)

    def leave(self, place: Left, now: datetime) -> None:
        """A job needs its place no more, or does not wait any more."""
        holder, waiter = self._holders.get(place.job), self._waiters.get(place.job)
        if holder is not None and _is_of(holder, place):
            if place.lapses:
                self._lapse(place.job, now)
            else:
                self._free(place.job)
        if waiter is not None and _is_of(waiter, place):
            del self._waiters[place.job]
            self._bytes -= _size(place.job)

    def change(self, changed: Changed) -> None:
        """How many places there are: what was said last holds, not what is heard last."""
        if changed.at >= self._limit_at:
            self.limit, self._limit_at = changed.limit, changed.at

    # -- places -------------------------------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        """Whether somebody is to be told of a place."""
        return bool(self._news) or (bool(self._waiters) and self._has_room)

    @property
    def _has_room(self) -> bool:
        return self.limit is None or self._held < self.limit

    @property
    def _held(self) -> int:
        return len(self._holders) + len(self._lapsing)

    def grant(self, now: datetime, most: int) -> list[Place]:
        """Gives free places to those that wait; the next `most` of those that are to be told."""
        room = most if self.limit is None else min(most, self.limit - self._held)
        for job in heapq.nsmallest(room, self._waiters, key=self._order) if room > 0 else []:
            waiter = self._waiters.pop(job)
            self._holders[job] = _Holder(waiter.chain, waiter.number, waiter.lease, now, now + FIRST_LOOK)
            self._news[job] = None
        told = list(self._news)[:most]
        for job in told:
            del self._news[job]
        return [self._place(job) for job in told]

    def _order(self, job: str) -> tuple[int, int, str]:
        waiter = self._waiters[job]
        return waiter.priority, waiter.since, job

    def _place(self, job: str) -> Place:
        holder = self._holders[job]
        return Place(job=job, chain=holder.chain, number=holder.number)

    def _free(self, job: str) -> None:
        del self._holders[job]
        self._news.pop(job, None)
        self._bytes -= _size(job)

    def _lapse(self, job: str, now: datetime) -> None:
        """Its handler may be at work still: it is told at its next sign of life, and stops when its lease runs out."""
        lease = self._holders[job].lease
        self._free(job)
        if lease:
            self._lapsing.append((job, now + timedelta(seconds=lease)))

    # -- looking after those that have one ----------------------------------------------------------------

    def next_look(self) -> datetime | None:
        """When some holder is to be looked at next, or a place of one who is gone lapses."""
        lapses = [until for _, until in self._lapsing]
        return min([*lapses, *(holder.look_at for holder in self._holders.values())], default=None)

    def expire(self, now: datetime) -> None:
        """Frees the places whose time is over."""
        self._lapsing = [(job, until) for job, until in self._lapsing if until > now]

    def to_look_at(self, now: datetime, most: int) -> list[Place]:
        """Those whose time it is, and those whose time is near."""
        due = [job for job, holder in self._holders.items() if holder.look_at <= now + _TOGETHER]
        return [self._place(job) for job in sorted(due, key=lambda job: self._holders[job].look_at)[:most]]

    def looked(self, place: Place, found: str, now: datetime) -> None:
        """Takes down how a holder stands; one that cannot need its place any more has none."""
        holder = self._holders.get(place.job)
        if holder is None or holder.chain != place.chain or holder.number != place.number:
            return  # It has left meanwhile.
        if found == GONE:
            self._lapse(place.job, now)
            return
        if found == IDLE and holder.was_idle:
            self._free(place.job)
            return
        holder.was_idle = found == IDLE
        if holder.was_idle:  # reset, perhaps: then its handler has been told when the lease is over
            holder.look_at = now + max(FIRST_LOOK, timedelta(seconds=holder.lease))
            return
        holder.look_away = min(2 * holder.look_away, LONGEST_LOOK_AWAY)
        holder.look_at = now + holder.look_away

    # -- as a whole ---------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return not self._held and not self._waiters

    def view(self, job: str | None = None) -> LineView:
        """How it stands, as `job` sees it."""
        waiter, position = (self._waiters.get(job), None) if job else (None, None)
        if waiter is not None and job is not None:
            mine = self._order(job)
            position = 1 + sum(self._order(other) < mine for other in self._waiters)
        oldest = sorted(self._holders.items(), key=lambda item: (item[1].granted_at, item[0]))
        return LineView(
            limit=self.limit,
            held=self._held,
            waiting=len(self._waiters),
            holders=[Holder(job=name, since=holder.granted_at) for name, holder in oldest[:_HOLDERS_SHOWN]],
            position=position,
            has_place=job in self._holders,
        )

    def pack(self) -> dict[str, Any]:
        """All of it as JSON, for the next run: rows instead of objects, since there may be thousands."""
        return {
            "limit": self.limit,
            "limit_at": self._limit_at,
            "news": list(self._news),
            "lapsing": [[job, _millis(until)] for job, until in self._lapsing],
            "holders": [
                [
                    job,
                    holder.chain,
                    holder.number,
                    holder.lease,
                    _millis(holder.granted_at),
                    _millis(holder.look_at),
                    holder.look_away // _MILLISECOND,
                    holder.was_idle,
                ]
                for job, holder in self._holders.items()
            ],
            "waiters": [
                [job, waiter.chain, waiter.number, waiter.priority, waiter.since, waiter.lease]
                for job, waiter in self._waiters.items()
            ],
        }

    @classmethod
    def unpack(cls, packed: dict[str, Any]) -> "Places":
        """What `pack` gave."""
        places = cls()
        places.limit, places._limit_at = packed["limit"], packed["limit_at"]
        places._lapsing = [(job, _instant(until)) for job, until in packed["lapsing"]]
        for job, chain, number, lease, granted, look_at, look_away, was_idle in packed["holders"]:
            places._holders[job] = _Holder(
                chain, number, lease, _instant(granted), _instant(look_at), look_away * _MILLISECOND, was_idle
            )
        for job, *waiter in packed["waiters"]:
            places._waiters[job] = _Waiter(*waiter)
        places._bytes = sum(map(_size, [*places._holders, *places._waiters]))
        places._news = dict.fromkeys(packed["news"])
        return places


def _size(job: str) -> int:
    return len(job.encode()) + _ROW


def _is_of(one: _Holder | _Waiter, place: Place) -> bool:
    return one.chain == place.chain and one.number <= place.number


def _millis(at: datetime) -> int:
    return (at - EPOCH) // _MILLISECOND


def _instant(millis: int) -> datetime:
    return EPOCH + millis * _MILLISECOND
