"""A wall-clock line as calendars and single instants that leave nothing to the server's reading of a clock
change.

1. A line that no change of the zone's clock ever touches is its calendars, as they are.
2. A line that says the same in every hour, whatever the zone's offsets, is not of the wall clock at all: it
   becomes exact intervals.
3. Any other line keeps its calendars for the days no change touches, within the horizon; a day that one does
   touch gets a calendar of its own with its safe hours, and what truly fires in the unsafe ones is named
   instant by instant. Beyond the horizon the plain calendars go on, with the server's own daylight-saving
   behaviour."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date

from duetime.cron.bits import from_bits
from duetime.cron.clock import DAY, Change
from duetime.cron.cron import EVERY_HOUR, EVERY_MONTH, Cron
from duetime.cron.exclude import EPOCH
from duetime.cron.hourly import Interval, as_intervals, hour_offsets, seconds_of_hour
from duetime.cron.lines import GAP, wall_fires
from duetime.cron.rows import YEARS, Row, rows_of
from duetime.cron.rule import Rule
from duetime.cron.times import WallLine
from duetime.cron.unsafe import Unsafe, unsafe_around


@dataclass(frozen=True)
class Calendar:
    """Days and times of day on the wall clock of the rule's zone."""

    days: Row
    hours: int
    minutes: int
    seconds: int


@dataclass
class Plan:
    """What the server is to be told: calendars, exact intervals and single instants, less what is to be
    skipped.
    """

    calendars: list[Calendar] = field(default_factory=list)
    intervals: set[Interval] = field(default_factory=set)
    once: set[int] = field(default_factory=set)
    #: What is left out, intervals and single instants included.
    skip: list[Calendar] = field(default_factory=list)
    #: Some calendar is right within the horizon only.
    bounded: bool = False
    #: Instants a day that the server tries, where those are more than the rule names.
    tried_a_day: int = 0

    @property
    def entries(self) -> int:
        return len(set(self.calendars)) + len(self.intervals) + len(self.once) + len(self.skip)


def plan_line(line: WallLine, rule: Rule, changes: list[Change], until: int, plan: Plan) -> None:
    """Add `line` to `plan`. `changes` are all those of the zone from now on, `until` is the horizon."""
    rows = rows_of(line)
    touching = [change for change in changes if _touched(line, rows, unsafe_around(change))]
    if not touching:
        plan.calendars += [Calendar(row, line.hours, line.minutes, line.seconds) for row in rows]
        return
    if intervals := _same_every_hour(line, changes):
        plan.intervals |= intervals
        return
    plan.bounded = True
    carved: dict[int, int] = defaultdict(int)
    for change in touching:
        if change.at <= until + DAY:  # the hour before a change is touched too
            unsafe = unsafe_around(change)
            for day in _touched(line, rows, unsafe):
                carved[day] |= unsafe.hours.get(day, 0)
            plan.once.update(_true_fires(line, rule, change, unsafe))
    for row in _without(rows, carved):
        plan.calendars.append(Calendar(row, line.hours, line.minutes, line.seconds))
    for day, unsafe_hours in carved.items():
        if _names(line, day) and (hours := line.hours & ~unsafe_hours):
            plan.calendars.append(Calendar(_row_of(day), hours, line.minutes, line.seconds))


def _touched(line: WallLine, rows: list[Row], unsafe: Unsafe) -> list[int]:
    """The days, of those a change touches, on which the plain calendars of `line` could go wrong."""
    by_weekday = any(row.weekdays != Row().weekdays for row in rows)
    return [
        day
        for day in {*unsafe.hours, *unsafe.no_midnight}
        if (by_weekday and day in unsafe.no_midnight)
        or (line.hours & unsafe.hours.get(day, 0) and _names(line, day))
    ]


def _names(line: WallLine, day: int) -> bool:
    on = date.fromordinal(day + EPOCH)
    return bool(line.days_in(on.year, on.month) >> on.day & 1)


def _same_every_hour(line: WallLine, changes: list[Change]) -> set[Interval]:
    """The line as intervals, if it names the same times in every hour there is; else nothing."""
    if (
        isinstance(line, Cron)
        and line.follows_clock
        and line.hours == EVERY_HOUR
        and line.months == EVERY_MONTH
        and line.days.every_day
    ):
        seconds, *others = (seconds_of_hour(line, offset) for offset in hour_offsets(changes))
        if all(other == seconds for other in others):
            return as_intervals(seconds)
    return set()


def _true_fires(line: WallLine, rule: Rule, change: Change, unsafe: Unsafe) -> Iterator[int]:
    first, last = min(unsafe.start, change.at), max(unsafe.end - 1, change.at)
    for instant, flags in wall_fires(line, rule, first, last, with_excluded=False):
        if flags & GAP or unsafe.start <= instant < unsafe.end:
            yield instant


def _without(rows: list[Row], carved: Iterable[int]) -> Iterator[Row]:
    """`rows` without the carved days, in as few rows as may be."""
    days = [date.fromordinal(day + EPOCH) for day in carved]
    for row in rows:
        removed: dict[tuple[int, int], int] = defaultdict(int)
        years_of: dict[int, set[int]] = defaultdict(set)
        for day in days:
            if row & Row(dates=1 << day.day, months=1 << day.month, years=frozenset({day.year})):
                removed[day.year, day.month] |= 1 << day.day
                years_of[day.month].add(day.year)
        months_by_years: dict[frozenset[int], int] = defaultdict(int)
        for month in from_bits(row.months):
            months_by_years[frozenset(years_of[month])] |= 1 << month
        for years, months in months_by_years.items():
            others = row & Row(months=months, years=frozenset(YEARS) - years if years else None)
            if others:
                yield others
        for (year, month), dates in removed.items():
            rest = replace(row, dates=row.dates & ~dates, months=1 << month, years=frozenset({year}))
            if rest:
                yield rest


def _row_of(day: int) -> Row:
    on = date.fromordinal(day + EPOCH)
    return Row(dates=1 << on.day, months=1 << on.month, years=frozenset({on.year}))
