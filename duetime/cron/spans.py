"""The instants of an exact span as the wall clock shows them, less the excluded ones."""

from collections.abc import Iterator

from duetime.cron.bits import from_bits, to_bits
from duetime.cron.clock import DAY, HOUR
from duetime.cron.cron import EVERY_SECOND_OF_HOUR
from duetime.cron.every import Every
from duetime.cron.exclude import Exclude, Excluded
from duetime.cron.times import EXCLUDED, Instant


class Spans:
    """Under one offset from UTC a span's times on a day depend on nothing but the first of them."""

    def __init__(self, line: Every, exclude: Exclude) -> None:
        self._line = line
        self._exclude = exclude
        self._cycle = to_bits(range(0, HOUR, line.span))
        #: How many times a day has at the most.
        self.a_day = -(-DAY // line.span)
        self._leaves: dict[tuple[int, int], bool] = {}

    def between(self, low: int, high: int, offset: int, with_excluded: bool) -> Iterator[Instant]:
        """Wall seconds from `low` up to `high`, `high` excluded, with their flags."""
        wall = self._on_or_after(low, offset)
        while wall < high:
            day = wall // DAY
            excluded = self._exclude.on(day)
            first = self._on_or_after(day * DAY, offset) - day * DAY
            if with_excluded or self._are_left(excluded, first):
                for hour in range(wall % DAY // HOUR, 24):
                    left_out = excluded.seconds(hour)
                    named = self._in_hour(hour, first)
                    for second in from_bits(named if with_excluded else named & ~left_out):
                        time = day * DAY + hour * HOUR + second
                        if low <= time < high:
                            yield time, EXCLUDED * (left_out >> second & 1)
            wall = self._on_or_after((day + 1) * DAY, offset)

    def fires_on(self, day: int, offset: int) -> bool:
        """Whether a day, counted from 1970-01-01, has a time that is not excluded."""
        first = self._on_or_after(day * DAY, offset) - day * DAY
        return first < DAY and self._are_left(self._exclude.on(day), first)

    def _are_left(self, excluded: Excluded, first: int) -> bool:
        """Whether some time of a day whose first one is at `first` is not excluded."""
        if excluded.whole:
            return False
        left = self._leaves.get((excluded.lines, first))
        if left is None:
            left = any(self._in_hour(hour, first) & ~excluded.seconds(hour) for hour in range(24))
            self._leaves[excluded.lines, first] = left
        return left

    def _in_hour(self, hour: int, first: int) -> int:
        """The seconds of an hour, as bits, that the span meets on a day whose first time is at `first`."""
        start = hour * HOUR
        second = first - start if first >= start else (first - start) % self._line.span
        return self._cycle << second & EVERY_SECOND_OF_HOUR if second < HOUR else 0

    def _on_or_after(self, wall: int, offset: int) -> int:
        return wall + (self._line.offset + offset - wall) % self._line.span
