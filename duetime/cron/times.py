"""The times of a line on the wall clock, day by day."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date

from duetime.cron.bits import from_bits
from duetime.cron.clock import DAY
from duetime.cron.cron import Cron
from duetime.cron.every import EveryDays
from duetime.cron.exclude import EPOCH, Exclude, Excluded

#: A due time and its flags.
Instant = tuple[int, int]
#: The flag of a time that the rule leaves out, listed only when asked for.
EXCLUDED = 2

#: A line that names times on a wall clock.
WallLine = Cron | EveryDays


class Times:
    """The wall seconds a line names, less the excluded ones: a table of times for each set of exclusions."""

    def __init__(self, line: WallLine, exclude: Exclude) -> None:
        self._line = line
        self._exclude = exclude
        #: The times of any day the line names.
        self.all = line.times
        self._open: dict[tuple[Cron, ...], tuple[int, ...]] = {(): self.all}

    def between(self, low: int, high: int, with_excluded: bool) -> Iterator[Instant]:
        """Wall seconds from `low` up to `high`, `high` excluded, with their flags."""
        for day in self._days(low // DAY, (high - 1) // DAY):
            midnight = day * DAY
            excluded = self._exclude.on(day)
            times = self.all if with_excluded else self._open_on(excluded)
            for index in range(bisect_left(times, low - midnight), bisect_left(times, high - midnight)):
                time = times[index]
                yield midnight + time, EXCLUDED * (with_excluded and excluded.covers(time))

    def named_on(self, day: int) -> int:
        """How many times the line names on a day, excluded ones included."""
        return len(self.all) if self._names(day) else 0

    def fires_on(self, day: int) -> bool:
        """Whether any of them is not excluded."""
        return self._names(day) and bool(self._open_on(self._exclude.on(day)))

    def _names(self, day: int) -> bool:
        return next(self._days(day, day), None) is not None

    def _open_on(self, excluded: Excluded) -> tuple[int, ...]:
        if excluded.by_date:
            return ()
        if excluded.lines not in self._open:
            self._open[excluded.lines] = tuple(time for time in self.all if not excluded.covers(time))
        return self._open[excluded.lines]

    def _days(self, first: int, last: int) -> Iterator[int]:
        """The days the line names from `first` to `last`, both included, counted from 1970-01-01."""
        start = date.fromordinal(first + EPOCH)
        year, month, from_day = start.year, start.month, start.day
        while (before_month := date(year, month, 1).toordinal() - EPOCH - 1) < last:
            for day in from_bits(self._line.days_in(year, month) >> from_day << from_day):
                if before_month + day > last:
                    return
                yield before_month + day
            year, month, from_day = (year + 1, 1, 1) if month == 12 else (year, month + 1, 1)
