"""A line said the other way round: exact intervals for its minutes and seconds, less every time it does not
name.

For a line that follows the wall clock this is exact at every change of it and needs no horizon, because the
server asks of each interval's instant what the wall clock shows. It pays where a line names so many times in
the hours of a change that `plan` would need hundreds of single instants; the price is the instants the server
tries in vain.
"""

from collections.abc import Iterator

from duetime.cron.bits import span
from duetime.cron.clock import Change
from duetime.cron.cron import EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH, EVERY_SECOND, Cron
from duetime.cron.days import EVERY_DATE, EVERY_WEEKDAY, Days
from duetime.cron.hourly import as_intervals, hour_offsets, seconds_of_hour
from duetime.cron.plan import Calendar, Plan
from duetime.cron.rows import Row
from duetime.cron.rule import Line

#: The most instants in a row that the server may try in vain: some 50 ms of its time.
_IN_VAIN = 600_000


def inverted(line: Line, changes: list[Change]) -> Plan | None:
    """The plan, if `line` can be said this way at a bearable price."""
    if not isinstance(line, Cron) or not line.follows_clock or not _plain(line.days):
        return None
    seconds = {second for offset in hour_offsets(changes) for second in seconds_of_hour(line, offset)}
    if len(seconds) * _silent_hours(line) > _IN_VAIN:
        return None
    return Plan(intervals=as_intervals(seconds), skip=list(_unnamed(line)), tried_a_day=24 * len(seconds))


def _plain(days: Days) -> bool:
    dates, weekdays = days.dates, days.weekdays
    return not (dates.from_last or dates.nearest or dates.last_workday or weekdays.nth or weekdays.last)


def _silent_hours(line: Cron) -> int:
    """How long `line` can be silent at the most, rather too much."""
    days = line.days
    if days.every_day:
        silent = 1 if line.months == EVERY_MONTH else 366
    elif line.months != EVERY_MONTH:
        silent = 8 * 366
    elif days.both_must_match and not days.dates.all:
        silent = 62 if days.weekdays.all else 366
    else:
        silent = 7
    return 24 * silent


def _unnamed(line: Cron) -> Iterator[Calendar]:
    always = Calendar(Row(), EVERY_HOUR, EVERY_MINUTE, EVERY_SECOND)
    for row in _unnamed_days(line):
        if row:
            yield Calendar(row, always.hours, always.minutes, always.seconds)
    if hours := EVERY_HOUR & ~line.hours:
        yield Calendar(Row(), hours, always.minutes, always.seconds)
    if minutes := EVERY_MINUTE & ~line.minutes:
        yield Calendar(Row(), always.hours, minutes, always.seconds)
    if seconds := EVERY_SECOND & ~line.seconds:
        yield Calendar(Row(), always.hours, always.minutes, seconds)


def _unnamed_days(line: Cron) -> Iterator[Row]:
    dates = EVERY_DATE & ~line.days.dates.plain
    weekdays = EVERY_WEEKDAY & ~line.days.weekdays.plain
    yield Row(months=span(1, 12) & ~line.months)
    if line.days.both_must_match:
        yield Row(dates=dates)
        yield Row(weekdays=weekdays)
    else:
        yield Row(dates=dates, weekdays=weekdays)
