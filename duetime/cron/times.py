"""The times of a line on the wall clock, day by day."""

from collections.abc import Iterator
from datetime import date

from duetime.cron.bits import from_bits, span
from duetime.cron.clock import DAY, HOUR
from duetime.cron.cron import Cron, Month, hour_bits, month_of
from duetime.cron.every import EveryDays
from duetime.cron.exclude import EPOCH, Exclude

#: A due time and its flags.
Instant = tuple[int, int]
#: The flag of a time that the rule leaves out, listed only when asked for.
EXCLUDED = 2

#: A line that names times on a wall clock.
WallLine = Cron | EveryDays

_EVERY_DAY = span(1, 31)


class Times:
    """The wall seconds a line names, less the excluded ones."""

    def __init__(self, line: WallLine, exclude: Exclude) -> None:
        self._line = line
        self._exclude = exclude
        #: Of each hour that the line names the same seconds, as bits.
        self._seconds = hour_bits(line.minutes, line.seconds)
        #: How many times the line names on a day of its own.
        self.a_day = line.hours.bit_count() * self._seconds.bit_count()
        self._leaves: dict[int, bool] = {0: True}
        self._open_in: dict[Month, int] = {}

    def between(self, low: int, high: int, with_excluded: bool) -> Iterator[Instant]:
        """Wall seconds from `low` up to `high`, `high` excluded, with their flags."""
        for day in self._days(low // DAY, (high - 1) // DAY, with_excluded):
            excluded = self._exclude.on(day)
            for hour in from_bits(self._line.hours):
                start = day * DAY + hour * HOUR
                if start + HOUR <= low or start >= high:
                    continue
                left_out = excluded.seconds(hour)
                named = self._seconds if with_excluded else self._seconds & ~left_out
                if start < low:
                    named &= -1 << low - start
                if start + HOUR > high:
                    named &= (1 << high - start) - 1
                for second in from_bits(named):
                    yield start + second, EXCLUDED * (left_out >> second & 1)

    def named_in(self, year: int, month: int) -> int:
        """The days that the line names, as bits 1-31, excluded ones included."""
        return self._line.days_in(year, month)

    def open_in(self, year: int, month: int) -> int:
        """Those of them on which the excluded lines leave some of its times."""
        named = self._line.days_in(year, month)
        return named & self._left_in(month_of(year, month)) if named and self._exclude.lines else named

    def _left_in(self, month: Month) -> int:
        """The days of the month, named or not, on which the excluded lines leave some of the line's times."""
        left = self._open_in.get(month)
        if left is None:
            asked = self._line.days_of(month) if isinstance(self._line, Cron) else _EVERY_DAY
            lines = self._exclude.lines_in(month)
            left = sum(1 << day for day in from_bits(asked) if self._is_left_by(lines[day]))
            self._open_in[month] = left
        return left

    def _is_left_by(self, lines: int) -> bool:
        left = self._leaves.get(lines)
        if left is None:
            hours = from_bits(self._line.hours)
            left = any(self._seconds & ~self._exclude.seconds(lines, hour) for hour in hours)
            self._leaves[lines] = left
        return left

    def _days(self, first: int, last: int, with_excluded: bool) -> Iterator[int]:
        """The days with times from `first` to `last`, both included, counted from 1970-01-01."""
        start = date.fromordinal(first + EPOCH)
        year, month, from_day = start.year, start.month, start.day
        days_in = self.named_in if with_excluded else self.open_in
        while (before_month := date(year, month, 1).toordinal() - EPOCH - 1) < last:
            for day in from_bits(days_in(year, month) >> from_day << from_day):
                if before_month + day > last:
                    return
                yield before_month + day
            year, month, from_day = (year + 1, 1, 1) if month == 12 else (year, month + 1, 1)
