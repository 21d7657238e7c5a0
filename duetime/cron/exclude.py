"""What a rule leaves out: whole dates, and every wall-clock time that a cron line matches."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from duetime.cron.clock import DAY, HOUR
from duetime.cron.cron import Cron

EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Exclude:
    """Matched on the wall clock of the rule's zone; a line of five fields excludes whole minutes."""

    dates: frozenset[date] = frozenset()
    lines: tuple[Cron, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.dates or self.lines)

    def on(self, day: int) -> "Excluded":
        """What is left out of a day, counted from 1970-01-01."""
        if not self:
            return Excluded(day)
        on = date.fromordinal(day + EPOCH)
        named = tuple(line for line in self.lines if line.days_in(on.year, on.month) >> on.day & 1)
        return Excluded(day, on in self.dates, named)

    def covers(self, wall: int) -> bool:
        """Whether a wall second is left out."""
        day, time = divmod(wall, DAY)
        return self.on(day).covers(time)


@dataclass(frozen=True)
class Excluded:
    """What is left out of one day: all of it by its date, or the times that the lines of that day name."""

    day: int
    by_date: bool = False
    lines: tuple[Cron, ...] = ()

    def covers(self, time: int) -> bool:
        """Whether a second of the day is left out."""
        return self.by_date or any(_names(line, time) for line in self.lines)

    @cached_property
    def whole(self) -> bool:
        return self.by_date or _names_whole_day(self.lines)


@lru_cache(maxsize=1024)
def _names_whole_day(lines: tuple[Cron, ...]) -> bool:
    """Whether `lines` together leave nothing of a day on which all of them match."""
    return all(_all_named(hour, minute, lines) for hour in range(24) for minute in range(60))


def _all_named(hour: int, minute: int, lines: tuple[Cron, ...]) -> bool:
    seconds = 0
    for line in lines:
        if line.hours >> hour & 1 and line.minutes >> minute & 1:
            seconds |= line.seconds if line.has_seconds else -1
    return seconds == -1 or all(seconds >> second & 1 for second in range(60))


def _names(line: Cron, time: int) -> bool:
    hour, rest = divmod(time, HOUR)
    minute, second = divmod(rest, 60)
    return bool(
        line.hours >> hour & 1
        and line.minutes >> minute & 1
        and (not line.has_seconds or line.seconds >> second & 1)
    )
