"""A cron line, read: the times of day and the days it names on a wall clock."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import NamedTuple

from duetime.cron.bits import from_bits, span
from duetime.cron.days import MONTH_LENGTHS, Days

EVERY_SECOND = EVERY_MINUTE = span(0, 59)
EVERY_HOUR = span(0, 23)
EVERY_MONTH = span(1, 12)
EVERY_SECOND_OF_HOUR = span(0, 3_599)


class Month(NamedTuple):
    """All that days depend on: two months that agree in this have the same days."""

    month: int
    length: int
    #: The weekday of the first, Sunday being 0.
    starts_on: int


@dataclass(frozen=True)
class Cron:
    """One cron line. The fields are sets of numbers as bits; `text` is the line as it was given."""

    text: str
    seconds: int
    minutes: int
    hours: int
    months: int
    days: Days
    #: The minute or hour field starts with `*`: the rule goes by the wall clock through every change of it.
    follows_clock: bool
    #: Six fields were given. A line of five says nothing of seconds: it fires at :00, and excludes whole
    #: minutes.
    has_seconds: bool
    warnings: tuple[str, ...] = ()

    @cached_property
    def times(self) -> tuple[int, ...]:
        """The times of day named, as ascending seconds since midnight."""
        return tuple(
            hour * 3600 + minute * 60 + second
            for hour in from_bits(self.hours)
            for minute in from_bits(self.minutes)
            for second in from_bits(self.seconds)
        )

    def days_in(self, year: int, month: int) -> int:
        """The days named in that month, as bits 1-31."""
        return self.days_of(month_of(year, month))

    def days_of(self, month: Month) -> int:
        """The days named in such a month, as bits 1-31."""
        return self.days.in_month(month.length, month.starts_on) if self.months >> month.month & 1 else 0


def month_length(year: int, month: int) -> int:
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return MONTH_LENGTHS[month][0]


@lru_cache(maxsize=4096)
def month_of(year: int, month: int) -> Month:
    return Month(month, month_length(year, month), date(year, month, 1).isoweekday() % 7)


@lru_cache(maxsize=1024)
def hour_bits(minutes: int, seconds: int) -> int:
    """The seconds of an hour, as bits 0-3599, at which both the minute and the second are named."""
    bits = 0
    for minute in from_bits(minutes):
        bits |= seconds << 60 * minute
    return bits
