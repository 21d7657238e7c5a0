"""How a zone's wall clock runs: stretches of constant offset, and the changes between them.

All instants are whole seconds since the Unix epoch, in UTC; a *wall* second is such a number plus the offset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

from duetime.cron.zones import load_zone

HOUR = 3_600
DAY = 86_400
#: Where this reading of time begins and ends: years that every datetime can hold in every zone.
FIRST = int(datetime(1970, 1, 2, tzinfo=UTC).timestamp())
LAST = int(datetime(9998, 1, 1, tzinfo=UTC).timestamp())
#: A change this large is a correction of the clock, not daylight saving (cron(8)).
CORRECTION = 3 * HOUR


@dataclass(frozen=True)
class Change:
    """At the instant `at` the offset goes from `before` to `after` seconds."""

    at: int
    before: int
    after: int

    @property
    def jump(self) -> int:
        """Seconds the wall clock leaps: positive leaves a gap, negative a repeat."""
        return self.after - self.before

    @property
    def is_correction(self) -> bool:
        return abs(self.jump) >= CORRECTION


@dataclass(frozen=True)
class Stretch:
    """Instants from `start` up to `end` (excluded) with one offset, and the changes that bound it."""

    start: int
    end: int
    offset: int
    opened: Change | None
    closed: Change | None


def offset_at(zone: str, instant: int) -> int:
    """Seconds east of UTC at an instant."""
    offset = datetime.fromtimestamp(instant, load_zone(zone)).utcoffset()
    assert offset is not None
    return offset.days * DAY + offset.seconds


@lru_cache(maxsize=8192)
def changes_in(zone: str, year: int) -> tuple[Change, ...]:
    """The changes of `zone` in one calendar year of UTC.

    zoneinfo does not list them, so one look a day finds them: no zone ever changed its clock twice in a day.
    """
    start, end = _new_year(year), _new_year(year + 1)
    found: list[Change] = []
    low, before = start - 1, offset_at(zone, start - 1)
    while low < end - 1:
        high = min(low + DAY, end - 1)
        after = offset_at(zone, high)
        if after != before:
            found.append(Change(_first_with(zone, after, low, high), before, after))
        low, before = high, after
    return tuple(found)


def at_wall_clock(wall: datetime, zone: str) -> datetime:
    """The instant, in UTC, at which the clocks of `zone` show `wall` (naive).

    A time that comes twice is the first of the two; one that is skipped is the end of the gap.
    `OverflowError` outside the years a datetime can hold.
    """
    for fold in (0, 1):
        instant = wall.replace(tzinfo=load_zone(zone), fold=fold).astimezone(UTC)
        if instant.astimezone(load_zone(zone)).replace(tzinfo=None) == wall:
            return instant
    near = int(instant.timestamp())
    return next(
        datetime.fromtimestamp(change.at, UTC)
        for change in changes_between(zone, near - 2 * DAY, near + 2 * DAY)
        if change.jump > 0
    )


def changes_between(zone: str, first: int, last: int) -> Iterator[Change]:
    """The changes at instants from `first` to `last`, both included."""
    for year in range(year_of(first), year_of(last) + 1):
        yield from (change for change in changes_in(zone, year) if first <= change.at <= last)


def stretches(zone: str, start: int) -> Iterator[Stretch]:
    """The clock from the instant `start` on, without an end: longer ones are cut at new year."""
    bounds = _bounds(zone, start)
    for (left, opened), (right, closed) in pairwise(bounds):
        yield Stretch(left, right, offset_at(zone, left), opened, closed)


def year_of(instant: int) -> int:
    return datetime.fromtimestamp(instant, UTC).year


def _bounds(zone: str, start: int) -> Iterator[tuple[int, Change | None]]:
    # A stretch that is already under way began with a change whose repeat may still be on.
    begun = list(changes_between(zone, start - DAY, start))
    yield (begun[-1].at, begun[-1]) if begun else (start, None)
    for year in range(year_of(start), year_of(LAST) + 1):
        new_year = _new_year(year)
        near = [*changes_in(zone, year - 1)[-1:], *changes_in(zone, year)[:1]]
        if new_year > start and all(abs(change.at - new_year) > DAY for change in near):
            yield new_year, None
        yield from ((change.at, change) for change in changes_in(zone, year) if change.at > start)


def _first_with(zone: str, offset: int, low: int, high: int) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if offset_at(zone, middle) == offset else (middle, high)
    return high


@lru_cache(maxsize=16_384)
def _new_year(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
