"""`every`: equal spans counted from 1970-01-01T00:00:00Z, or calendar days counted from 1970-01-01 in a zone.

A span written in whole days or weeks means calendar days once a time zone stands beside it (RFC 5545 calls
such durations nominal): they begin at local midnight, however long the day is. `24h` stays 24 hours.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from duetime.contracts.duration import Duration, parse_duration
from duetime.cron.cron import month_length
from duetime.cron.errors import RuleError

DAY = 86_400
#: The longest span. The engine counts its intervals from 1970 and starts them only in their second period.
LONGEST = timedelta(days=3_650)

_WHOLE_DAYS = re.compile(r"(?=\d)(?:\d+w)?(?:\d+d)?|P(?=\d)(?:\d+W)?(?:\d+D)?", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Every:
    """The instants `n * span + offset` seconds after the Unix epoch."""

    text: str
    span: int
    offset: int = 0
    #: Written in whole days or weeks.
    in_days: bool = False


@dataclass(frozen=True)
class EveryDays:
    """Every `count` calendar days at one time of day; the first day counted is 1970-01-01 plus `phase`.

    A fixed time as cron(8) means it: the policies move it out of a gap and choose the pass of a repeat.
    """

    text: str
    count: int
    phase: int
    time: int

    follows_clock = False

    @property
    def seconds(self) -> int:
        return 1 << self.time % 60

    @property
    def minutes(self) -> int:
        return 1 << self.time // 60 % 60

    @property
    def hours(self) -> int:
        return 1 << self.time // 3600

    @property
    def times(self) -> tuple[int, ...]:
        return (self.time,)

    def days_in(self, year: int, month: int) -> int:
        """The days named in that month, as bits 1-31."""
        before_first = date(year, month, 1).toordinal() - _EPOCH - 1
        first = 1 + (self.phase - before_first - 1) % self.count
        return sum(1 << day for day in range(first, month_length(year, month) + 1, self.count))


def read_every(span: Duration, offset: Duration | None = None) -> Every:
    """The rule `every: span` with its `offset`; the path of a `RuleError` is `every` or `offset`."""
    seconds = _whole_seconds(span, "every")
    if not 1 <= seconds <= LONGEST.total_seconds():
        raise RuleError("not between one second and ten years", path=("every",))
    shift = _whole_seconds(offset, "offset") if offset is not None else 0
    if shift >= seconds:
        raise RuleError("must be shorter than 'every'", path=("offset",))
    text = span if isinstance(span, str) else f"{seconds}s"
    return Every(text, seconds, shift, bool(isinstance(span, str) and _WHOLE_DAYS.fullmatch(span)))


def on_calendar(every: Every) -> EveryDays:
    """The same span as calendar days of a time zone."""
    return EveryDays(every.text, every.span // DAY, every.offset // DAY, every.offset % DAY)


def _whole_seconds(value: Duration, field: str) -> int:
    try:
        span = parse_duration(value)
    except ValueError as error:
        raise RuleError(str(error), path=(field,)) from None
    if span % timedelta(seconds=1):
        raise RuleError("must be whole seconds", hint="schedules fire on the second", path=(field,))
    return span // timedelta(seconds=1)
