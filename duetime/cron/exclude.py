"""What a rule leaves out: whole dates, and every wall-clock time that a cron line matches.

Which lines match a day depends on the shape of its month alone, and what they leave out of its hours on those lines
alone. Both are remembered, because a rule that leaves out nearly everything is searched through a century.
"""

from dataclasses import dataclass
from datetime import date
from functools import cached_property

from duetime.cron.bits import from_bits
from duetime.cron.clock import DAY, HOUR
from duetime.cron.cron import EVERY_SECOND, EVERY_SECOND_OF_HOUR, Cron, Month, hour_bits, month_of

EPOCH = date(1970, 1, 1).toordinal()
#: The most hours remembered: some 7 MB.
_REMEMBERED = 16_384


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
            return _NOTHING
        on = date.fromordinal(day + EPOCH)
        return Excluded(self, on in self.dates, self.lines_in(month_of(on.year, on.month))[on.day])

    def covers(self, wall: int) -> bool:
        """Whether a wall second is left out."""
        day, time = divmod(wall, DAY)
        return self.on(day).covers(time)

    def lines_in(self, month: Month) -> tuple[int, ...]:
        """For each day of the month the numbers of the lines that match it, as bits; the first is of no day."""
        found = self._lines_in.get(month)
        if found is None:
            named = [line.days_of(month) for line in self.lines]
            found = self._lines_in[month] = tuple(
                sum((days >> day & 1) << number for number, days in enumerate(named)) for day in range(32)
            )
        return found

    def seconds(self, lines: int, hour: int) -> int:
        """The seconds of an hour that `lines`, numbers as bits, leave out of a day they match."""
        found = self._seconds.get((lines, hour))
        if found is None:
            found = 0
            for number in from_bits(lines & self._by_hour[hour]):
                found |= self._hour_bits[number]
            if len(self._seconds) >= _REMEMBERED:
                self._seconds.clear()
            self._seconds[lines, hour] = found
        return found

    def leaves_nothing(self, lines: int) -> bool:
        """Whether `lines`, numbers as bits, together leave nothing of a day they match."""
        found = self._nothing_left.get(lines)
        if found is None:
            whole = all(self.seconds(lines, hour) == EVERY_SECOND_OF_HOUR for hour in range(24))
            found = self._nothing_left[lines] = whole
        return found

    @cached_property
    def _hour_bits(self) -> list[int]:
        return [
            hour_bits(line.minutes, line.seconds if line.has_seconds else EVERY_SECOND) for line in self.lines
        ]

    @cached_property
    def _by_hour(self) -> list[int]:
        """For each hour the numbers of the lines that name it."""
        return [
            sum((line.hours >> hour & 1) << number for number, line in enumerate(self.lines))
            for hour in range(24)
        ]

    @cached_property
    def _lines_in(self) -> dict[Month, tuple[int, ...]]:
        return {}

    @cached_property
    def _seconds(self) -> dict[tuple[int, int], int]:
        return {}

    @cached_property
    def _nothing_left(self) -> dict[int, bool]:
        return {}


@dataclass(frozen=True, slots=True)
class Excluded:
    """What is left out of one day: all of it by its date, or the times that some lines name."""

    exclude: Exclude
    by_date: bool = False
    #: The numbers of the lines that match the day, as bits.
    lines: int = 0

    def seconds(self, hour: int) -> int:
        """The seconds of an hour of the day that are left out, as bits."""
        if self.by_date:
            return EVERY_SECOND_OF_HOUR
        return self.exclude.seconds(self.lines, hour) if self.lines else 0

    def covers(self, time: int) -> bool:
        """Whether a second of the day is left out."""
        hour, second = divmod(time, HOUR)
        return bool(self.seconds(hour) >> second & 1)

    @property
    def whole(self) -> bool:
        return self.by_date or (self.lines > 0 and self.exclude.leaves_nothing(self.lines))


_NOTHING = Excluded(Exclude())
