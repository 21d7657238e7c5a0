"""Through the index from a cursor on, in the order of the list: `cursor` says why it is in two parts.

What an open job does meanwhile is one step, from open to finished, and the reading is ordered so that the step cannot
hide it: in the part of the open jobs first those that are open, then those that have ended since the list began, so
that one which ends between the two looks is in both, and is told once; the finished jobs after all of them.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import median_high
from typing import Protocol

from api.jobs import query
from api.jobs.cursor import Cursor, Key, Part, key_of
from api.jobs.index import MOST, Index, Row
from duetime.contracts.instants import EPOCH
from duetime.contracts.states import State

_NEVER = datetime.max.replace(tzinfo=UTC)
#: Answers of `MOST` rows that are read of what has ended since, before a shorter span of the list is taken.
_ANSWERS = 5


@dataclass(frozen=True)
class Chunk:
    """The next rows of a list, those of the open part first. `then` goes on after all of them; `None` at the end."""

    begin: Cursor
    rows: list[Row]
    opened: int
    then: Cursor | None

    def after(self, position: int) -> Cursor:
        """The place after the row in that position."""
        part = Part.OPEN if position < self.opened else Part.FINISHED
        return replace(self.begin, part=part, last=key_of(self.rows[position]))


class Wanted(Protocol):
    """The states that a list is about."""

    @property
    def open_states(self) -> frozenset[State]:
        """The states wanted of what is open."""

    @property
    def final_states(self) -> frozenset[State]:
        """The states wanted of what is finished."""


class Walk:
    """Reads one list, chunk by chunk: of what the query `among` holds, that in the states that are wanted."""

    def __init__(self, index: Index, wanted: Wanted, among: str) -> None:
        self._index = index
        self._wanted = wanted
        self._jobs = among

    async def chunk(self, at: Cursor | None, size: int) -> Chunk:
        """The next rows, about `size` of them; fewer, even none, only where a part ends."""
        if at is None:
            everything = Cursor(Part.FINISHED, _NEVER, EPOCH)
            return await (self._first(size) if self._wanted.open_states else self._finished(everything, size))
        return await (self._open(at, size) if at.part is Part.OPEN else self._finished(at, size))

    async def has_more(self, at: Cursor) -> bool:
        """Whether anything comes after the beginning of the finished part."""
        return bool((await self._finished(at, len(at.told) + 1)).rows)

    async def _first(self, size: int) -> Chunk:
        """The beginning, in one look: the index's order is the order of the list, now."""
        wanted = query.any_of(self._open_now(), query.finished(self._wanted.final_states))
        found, _ = await self._index.rows(query.all_of(self._jobs, query.NOT_CONTINUED, wanted), size + 1)
        opened = sum(row.is_open for row in found)
        newest = found[0].started_at if opened else EPOCH
        ends = (row.closed_at for row in found if row.closed_at)
        cutoff = next(ends, None) or (await self._last_end() if len(found) > size else None) or newest
        return _chunk(Cursor(Part.OPEN, cutoff, newest), found, opened, size)

    async def _last_end(self) -> datetime | None:
        """By the server's clock, which alone can be compared with the ends of jobs."""
        if not self._wanted.final_states:
            return None
        ended = query.all_of(self._jobs, query.finished(self._wanted.final_states))
        rows, _ = await self._index.rows(ended, 1)
        return rows[0].closed_at if rows else None

    async def _open(self, at: Cursor, size: int) -> Chunk:
        place = _after_in_open(at.last)
        still, _ = await self._index.rows(query.all_of(self._jobs, self._open_now(), place), size + 1)
        more = len(still) > size
        still = still[:size]
        ended, floor = await self._ended_since(at, place, still[-1].started_at if more else None)
        rows = sorted({row.run_id: row for row in [*still, *ended]}.values(), key=_open_order)
        if more:
            rows = [row for row in rows if _open_order(row) <= _open_order(still[-1])]
        if floor is not None:
            rows = [row for row in rows if row.started_at >= floor]
            return Chunk(at, rows, len(rows), replace(at, last=key_of(rows[-1])))
        finished = replace(at, part=Part.FINISHED, last=None) if self._wanted.final_states else None
        return Chunk(at, rows, len(rows), finished)

    async def _ended_since(
        self, at: Cursor, place: str, floor: datetime | None
    ) -> tuple[list[Row], datetime | None]:
        """Those after `place` that were open when the list began and are no more, down to the start `floor`, or to a
        later one when they are very many."""
        since = [query.all_of(query.CONTINUED, f"CloseTime > {query.moment(at.newest)}")]
        if final := query.finished(self._wanted.final_states):
            since.append(query.all_of(final, f"CloseTime > {query.moment(at.cutoff)}"))
        while True:
            down = f"StartTime >= {query.moment(floor)}" if floor else ""
            text = query.all_of(self._jobs, query.any_of(*since), place, down)
            rows, token = await self._index.rows(text, MOST)
            for _ in range(_ANSWERS - 1):
                if not token:
                    break
                more, token = await self._index.rows(text, MOST, token)
                rows += more
            middle = median_high(row.started_at for row in rows) if token else None
            if middle is None or middle == floor:
                return rows, floor
            floor = middle

    async def _finished(self, at: Cursor, size: int) -> Chunk:
        until = f"CloseTime <= {query.moment(at.cutoff)}" if at.cutoff < _NEVER else ""
        final = query.finished(self._wanted.final_states)
        text = query.all_of(self._jobs, final, until, _after_in_finished(at.last))
        found, _ = await self._index.rows(text, size + 1)
        chunk = _chunk(at, found, 0, size)
        return replace(chunk, rows=[row for row in chunk.rows if row.run_id not in at.told])

    def _open_now(self) -> str:
        return query.open_in(self._wanted.open_states, datetime.now(UTC))


def _chunk(begin: Cursor, found: list[Row], opened: int, size: int) -> Chunk:
    """Of `size + 1` rows asked for, the first `size`."""
    chunk = Chunk(begin, found[:size], min(opened, size), None)
    return replace(chunk, then=chunk.after(size - 1)) if len(found) > size else chunk


def _open_order(row: Row) -> tuple[timedelta, str]:
    return EPOCH - row.started_at, row.run_id


def _after_in_open(last: Key | None) -> str:
    if last is None:
        return ""
    started = query.moment(last.started_at)
    same = query.all_of(f"StartTime = {started}", f"RunId > {query.literal(last.run_id)}")
    return query.any_of(f"StartTime < {started}", same)


def _after_in_finished(last: Key | None) -> str:
    if last is None:
        return ""
    closed = query.moment(last.closed_at)
    return query.any_of(f"CloseTime < {closed}", query.all_of(f"CloseTime = {closed}", _after_in_open(last)))
