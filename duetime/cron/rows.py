"""The days of a line as rows: a union of products of dates, weekdays, months and years.

That is all a Temporal calendar can say of days, so what the cron dialect says in one word (`L`, `15W`,
either-or) is spelled out here: by the length of the month where it depends on it, and February by its leap
years.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from duetime.cron.bits import span, to_bits
from duetime.cron.cron import EVERY_MONTH, Cron
from duetime.cron.days import EVERY_DATE, EVERY_WEEKDAY, Dates, Weekdays
from duetime.cron.every import EveryDays

#: The years a Temporal calendar knows (`maxCalendarYear` in the server's
#: service/worker/scheduler/calendar.go).
YEARS = range(2000, 2101)

_LEAP = frozenset(year for year in YEARS if year % 4 == 0 and year != 2100)
_COMMON = frozenset(YEARS) - _LEAP
_MONDAY, _FRIDAY, _WORKDAYS = 1 << 1, 1 << 5, span(1, 5)
_THURSDAY = 4


@dataclass(frozen=True)
class Row:
    """The days on which all four match; `years` is `None` for any."""

    dates: int = EVERY_DATE
    weekdays: int = EVERY_WEEKDAY
    months: int = EVERY_MONTH
    years: frozenset[int] | None = None

    def __and__(self, other: "Row") -> "Row":
        years = self.years if other.years is None else other.years
        if self.years is not None and other.years is not None:
            years = self.years & other.years
        return Row(
            self.dates & other.dates, self.weekdays & other.weekdays, self.months & other.months, years
        )

    def __bool__(self) -> bool:
        return bool(self.dates and self.weekdays and self.months and self.years != frozenset())


#: Months by their length.
_LENGTHS = {
    31: Row(months=to_bits((1, 3, 5, 7, 8, 10, 12))),
    30: Row(months=to_bits((4, 6, 9, 11))),
    29: Row(months=1 << 2, years=_LEAP),
    28: Row(months=1 << 2, years=_COMMON),
}


def rows_of(line: Cron | EveryDays) -> list[Row]:
    """The days `line` names, in the years of `YEARS`."""
    if isinstance(line, EveryDays):
        return _counted(line)
    days = line.days
    if days.every_day:
        rows = [Row()]
    elif days.both_must_match:
        rows = [date & weekday for date, weekday in product(_dates(days.dates), _weekdays(days.weekdays))]
    else:
        rows = [*_dates(days.dates), *_weekdays(days.weekdays)]
    return _merged(row & Row(months=line.months) for row in rows)


def _dates(dates: Dates) -> Iterator[Row]:
    yield Row(dates=dates.plain)
    for back in dates.from_last:
        for length, months in _LENGTHS.items():
            yield months & Row(dates=_bit(length - back))
    for day in dates.nearest:
        if day < min(_LENGTHS):
            yield from _nearest(day)
        else:
            for length, months in _LENGTHS.items():
                if day <= length:
                    yield from (months & row for row in _nearest(day, length))
    if dates.last_workday:
        for length, months in _LENGTHS.items():
            yield from (months & row for row in _nearest(length, length))


def _nearest(day: int, length: int = 31) -> Iterator[Row]:
    """The weekday nearest to `day`: itself, or the Friday or Monday beside it that stays within the month."""
    yield Row(dates=_bit(day), weekdays=_WORKDAYS)
    yield (
        Row(dates=_bit(day - 1), weekdays=_FRIDAY) if day > 1 else Row(dates=_bit(day + 2), weekdays=_MONDAY)
    )
    yield (
        Row(dates=_bit(day + 1), weekdays=_MONDAY)
        if day < length
        else Row(dates=_bit(day - 2), weekdays=_FRIDAY)
    )


def _weekdays(weekdays: Weekdays) -> Iterator[Row]:
    yield Row(weekdays=weekdays.plain)
    for weekday, nth in weekdays.nth:
        yield Row(dates=span(7 * nth - 6, min(7 * nth, 31)), weekdays=1 << weekday)
    for weekday in weekdays.last:
        for length, months in _LENGTHS.items():
            yield months & Row(dates=span(length - 6, length), weekdays=1 << weekday)


def _counted(line: EveryDays) -> list[Row]:
    if line.count == 1:
        return [Row()]
    if line.count == 7:
        return [Row(weekdays=1 << (_THURSDAY + line.phase) % 7)]  # 1970-01-01 was a Thursday
    years: dict[tuple[int, int], set[int]] = defaultdict(set)
    for year in YEARS:
        for month in range(1, 13):
            years[month, line.days_in(year, month)].add(year)
    return _merged(
        Row(dates=dates, months=1 << month, years=frozenset(on)) for (month, dates), on in years.items()
    )


def _merged(rows: Iterator[Row]) -> list[Row]:
    """Fewer rows that name the same days: those that differ in one field alone become one."""
    by_rest: dict[Row, int] = defaultdict(int)
    for row in filter(None, rows):
        by_rest[replace(row, dates=0)] |= row.dates
    by_months: dict[Row, int] = defaultdict(int)
    for rest, dates in by_rest.items():
        by_months[replace(rest, dates=dates, months=0)] |= rest.months
    return [replace(rest, months=months) for rest, months in by_months.items()]


def _bit(number: int) -> int:
    return 1 << number if number > 0 else 0
