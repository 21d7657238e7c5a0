"""What is valid in a cron line and most likely not meant: said as a warning, never corrected."""

from collections.abc import Iterator
from dataclasses import dataclass

from duetime.cron.bits import from_bits
from duetime.cron.cron import EVERY_HOUR, EVERY_MINUTE, EVERY_SECOND, Cron
from duetime.cron.days import MONTH_LENGTHS
from duetime.cron.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field, Part


@dataclass(frozen=True)
class Parts:
    """The elements of each field as they were written."""

    second: list[Part]
    minute: list[Part]
    hour: list[Part]
    dates: list[Part]
    month: list[Part]
    weekdays: list[Part]


#: The unit of `every` that a step past its field was meant to count.
_UNITS = {"second": "s", "minute": "m", "hour": "h"}
#: What starts a field's steps anew.
_WHOLE = {"second": "minute", "minute": "hour", "hour": "day"}


def lint(cron: Cron, parts: Parts) -> Iterator[str]:
    yield from _steps(SECOND, parts.second)
    yield from _steps(MINUTE, parts.minute)
    yield from _steps(HOUR, parts.hour)
    yield from _steps(DAY_OF_MONTH, parts.dates)
    yield from _steps(MONTH, parts.month)
    yield from _steps(DAY_OF_WEEK, parts.weekdays)
    yield from _seconds(cron)
    yield from _minutes(cron, parts)
    yield from _both_day_fields(cron)
    yield from _short_months(cron)


def _steps(field: Field, parts: list[Part]) -> Iterator[str]:
    size = field.high - field.low + 1
    for part in parts:
        values = ", ".join(map(str, part.values))
        if part.step and len(part.values) == 1 and part.step >= size:
            unit = _UNITS.get(field.name)
            instead = f"; for that span use every: '{part.step}{unit}'" if unit else ""
            yield f"{field.name}: '{part.text}' names only {values}, no step leaves its field{instead}"
        elif part.bare_step:
            read = f"{part.values[0]}-{field.high}/{part.step}"
            yield f"{field.name}: '{part.text}' is read as '{read}': {values}"
        elif part.star and part.step and size % part.step and field.name in _WHOLE:
            last = size - part.values[-1]
            yield (
                f"{field.name}: '{part.text}' starts again with every {_WHOLE[field.name]} ({values}): "
                f"the last gap is {last}, not {part.step}"
            )


def _seconds(cron: Cron) -> Iterator[str]:
    if not cron.has_seconds:
        return
    if cron.seconds == EVERY_SECOND:
        yield "six fields have the second first: '*' there fires every second"
    elif cron.hours == EVERY_HOUR and cron.minutes.bit_count() == 1 and cron.days.every_day:
        minute = next(from_bits(cron.minutes))
        yield f"six fields have the second first: this fires at minute {minute} of every hour, not once a day"


def _minutes(cron: Cron, parts: Parts) -> Iterator[str]:
    hour = parts.hour[0]
    if cron.minutes == EVERY_MINUTE and len(parts.hour) == 1 and (hour.step or len(hour.values) == 1):
        yield f"'*' fires every minute of the hours '{hour.text}': for once an hour write '0' in the minute"


def _both_day_fields(cron: Cron) -> Iterator[str]:
    dates, weekdays = cron.days.dates, cron.days.weekdays
    if not cron.days.both_must_match:
        yield "both day fields are restricted: this fires on days that match either of them"
    elif not dates.all and not weekdays.all:
        yield "a day field starts with '*': this fires only on days that match both of them"


def _short_months(cron: Cron) -> Iterator[str]:
    dates = cron.days.dates
    if dates.from_last or dates.nearest or dates.last_workday or not cron.days.weekdays.all:
        return
    first = min(from_bits(dates.plain), default=0)
    without = [month for month in from_bits(cron.months) if min(MONTH_LENGTHS[month]) < first]
    if without == list(from_bits(cron.months)) == [2]:
        yield "29 February comes in leap years only"
    elif without:
        yield f"months without day {first} are left out: 'L' is the last day of every month"
