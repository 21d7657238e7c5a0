"""The words of Temporal's schedule specification for what a plan holds.

Duetime sends the definition of the zone along with its name. The server would otherwise look the name up in
the database of whatever machine it runs on, and two editions of that database can disagree about next winter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

import temporalio.api.schedule.v1
from temporalio.client import ScheduleCalendarSpec, ScheduleIntervalSpec, ScheduleRange, ScheduleSpec

from duetime.cron.bits import from_bits
from duetime.cron.plan import Calendar

#: The period of an interval that is to fire once: it comes round again in 50 years. The server counts periods
#: from 1970 and starts with the second, so it must be shorter than the time since.
_ONCE = timedelta(days=18_250)


@dataclass
class ZonedScheduleSpec(ScheduleSpec):
    """A specification with its zone's definition: the protocol's `timezone_data`, which the SDK leaves out.

    Read back through the SDK it is a plain `ScheduleSpec` without the data: write a freshly compiled one when
    you update a schedule, or edit the protocol's message.
    """

    time_zone_data: bytes = b""

    def _to_proto(self) -> temporalio.api.schedule.v1.ScheduleSpec:
        message = super()._to_proto()
        message.timezone_data = self.time_zone_data
        return message


def calendar_spec(calendar: Calendar) -> ScheduleCalendarSpec:
    days = calendar.days
    return ScheduleCalendarSpec(
        second=_ranges(from_bits(calendar.seconds)),
        minute=_ranges(from_bits(calendar.minutes)),
        hour=_ranges(from_bits(calendar.hours)),
        day_of_month=_ranges(from_bits(days.dates)),
        month=_ranges(from_bits(days.months)),
        year=() if days.years is None else _ranges(sorted(days.years)),
        day_of_week=_ranges(from_bits(days.weekdays)),
    )


def interval_spec(span: int, offset: int) -> ScheduleIntervalSpec:
    return ScheduleIntervalSpec(timedelta(seconds=span), timedelta(seconds=offset))


def once(instant: int) -> ScheduleIntervalSpec:
    """An interval that fires at `instant` and not again for 50 years."""
    return interval_spec(_ONCE // timedelta(seconds=1), instant % (_ONCE // timedelta(seconds=1)))


def _ranges(numbers: Iterable[int]) -> tuple[ScheduleRange, ...]:
    """Ascending numbers as few ranges: one with a step if that says it, else runs."""
    values = list(numbers)
    steps = {right - left for left, right in pairwise(values)}
    if len(values) > 2 and len(steps) == 1:
        return (ScheduleRange(values[0], values[-1], steps.pop()),)
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return tuple(ScheduleRange(run[0], run[-1]) for run in runs)
