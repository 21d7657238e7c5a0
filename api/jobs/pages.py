"""Filling one page of a list, of jobs or of what is made of them: rows in, items out, and where the list goes on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from api.jobs.cursor import Cursor, Part
from api.jobs.index import Row
from api.jobs.walk import Walk

Item = TypeVar("Item")

#: A page stops at about so many executions read with what it has; its cursor goes on.
MOST_READ = 500


@dataclass
class Page(Generic[Item]):
    """A page being filled."""

    limit: int
    items: list[Item] = field(default_factory=list)
    read: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.items) >= self.limit

    @property
    def is_enough(self) -> bool:
        return self.is_full or self.read >= MOST_READ

    def stride(self, at: Cursor | None) -> int:
        """How many rows to ask for."""
        return self.limit - len(self.items)


@dataclass(frozen=True)
class Seen(Generic[Item]):
    """A row as it is now: nothing when it is not wanted (any more). `ended_at` is what its execution says."""

    item: Item | None
    ended_at: datetime | None = None


async def fill(
    page: Page[Item],
    walk: Walk,
    at: Cursor | None,
    see: Callable[[list[Row], Cursor], Awaitable[Sequence[Seen[Item]]]],
) -> Cursor | None:
    """Puts what `see` makes of the rows on the page; where the list goes on, `None` at its end."""
    while True:
        chunk = await walk.chunk(at, page.stride(at))
        seen = await see(chunk.rows, chunk.begin)
        late: list[str] = []
        for position, (row, now) in enumerate(zip(chunk.rows, seen, strict=True)):
            if page.is_full:
                return chunk.after(position - 1).with_told(late)
            if row.is_open and now.ended_at is not None and now.ended_at <= chunk.begin.cutoff:
                late.append(row.run_id)
            if now.item is not None:
                page.items.append(now.item)
        at = chunk.then.with_told(late) if chunk.then else None
        if at is None:
            return None
        if page.is_enough:
            turns = at.part is Part.FINISHED and at.last is None
            return at if not turns or await walk.has_more(at) else None
