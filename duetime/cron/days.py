"""The two day fields as one question: which days of a month does this rule name?

All a month can look like is its length and the weekday it starts on, so the answer is a table of at most 28
rows, and "can this ever fire" needs no search.

Both fields restricted means *either*, unless one of them starts with `*`: then *both* (crontab(5); that `*/2`
counts as a star is in the source of Vixie's cron).
"""

from dataclasses import dataclass
from functools import lru_cache

from duetime.cron.bits import from_bits, span, to_bits

EVERY_DATE = span(1, 31)
EVERY_WEEKDAY = span(0, 6)

#: The lengths each month can have.
MONTH_LENGTHS: dict[int, tuple[int, ...]] = {
    **dict.fromkeys((1, 3, 5, 7, 8, 10, 12), (31,)),
    **dict.fromkeys((4, 6, 9, 11), (30,)),
    2: (28, 29),
}


@dataclass(frozen=True)
class Dates:
    """The day-of-month field: a union of what it lists."""

    #: Plain days, bits 1-31.
    plain: int
    #: The field starts with `*`.
    star: bool = False
    #: `L-3` is 3, `L` is 0.
    from_last: tuple[int, ...] = ()
    #: `15W` is 15: the weekday (Monday to Friday) nearest to it within the month.
    nearest: tuple[int, ...] = ()
    #: `LW`: the last Monday to Friday.
    last_workday: bool = False

    @property
    def all(self) -> bool:
        return self.plain == EVERY_DATE

    def in_month(self, length: int, starts_on: int) -> int:
        days = self.plain & span(1, length)
        for back in self.from_last:
            if back < length:
                days |= 1 << (length - back)
        for day in (*self.nearest, *((length,) if self.last_workday else ())):
            if day <= length:
                days |= 1 << _nearest_workday(day, length, starts_on)
        return days


@dataclass(frozen=True)
class Weekdays:
    """The day-of-week field: a union of what it lists. Sunday is 0."""

    #: Plain weekdays, bits 0-6.
    plain: int
    #: The field starts with `*`.
    star: bool = False
    #: `FRI#2` is (5, 2).
    nth: tuple[tuple[int, int], ...] = ()
    #: `5L` is 5.
    last: tuple[int, ...] = ()

    @property
    def all(self) -> bool:
        return self.plain == EVERY_WEEKDAY

    def in_month(self, length: int, starts_on: int) -> int:
        days = 0
        for weekday in from_bits(self.plain):
            days |= to_bits(range(1 + (weekday - starts_on) % 7, length + 1, 7))
        for weekday, nth in self.nth:
            day = 1 + (weekday - starts_on) % 7 + 7 * (nth - 1)
            if day <= length:
                days |= 1 << day
        for weekday in self.last:
            days |= 1 << (length - (starts_on + length - 1 - weekday) % 7)
        return days


@dataclass(frozen=True)
class Days:
    """Both day fields together."""

    dates: Dates
    weekdays: Weekdays

    @property
    def both_must_match(self) -> bool:
        return self.dates.star or self.weekdays.star

    @property
    def every_day(self) -> bool:
        """Every day there is, whatever the spelling."""
        if self.both_must_match:
            return self.dates.all and self.weekdays.all
        return self.dates.all or self.weekdays.all

    def in_month(self, length: int, starts_on: int) -> int:
        """The days named (bits 1-31) in a month of `length` days whose first is weekday `starts_on`."""
        return _in_month(self, length, starts_on)

    def ever(self, months: int) -> bool:
        """Whether any year has such a day in any of `months` (bits 1-12): 29 February, too, falls on all
        weekdays.
        """
        lengths = {length for month in from_bits(months) for length in MONTH_LENGTHS[month]}
        return any(self.in_month(length, first) for length in lengths for first in range(7))


@lru_cache(maxsize=4096)
def _in_month(days: Days, length: int, starts_on: int) -> int:
    dates = days.dates.in_month(length, starts_on)
    weekdays = days.weekdays.in_month(length, starts_on)
    return dates & weekdays if days.both_must_match else dates | weekdays


def _nearest_workday(day: int, length: int, starts_on: int) -> int:
    weekday = (starts_on + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day
