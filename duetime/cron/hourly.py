"""What a line says within an hour, as intervals that know nothing of zones."""

from duetime.cron.bits import from_bits
from duetime.cron.clock import HOUR, Change
from duetime.cron.cron import Cron

#: `(span, offset)` of an exact interval, in seconds.
Interval = tuple[int, int]


def hour_offsets(changes: list[Change]) -> set[int]:
    """What a zone's offsets leave after whole hours: one number in nearly all zones, two on Lord Howe."""
    return {offset % HOUR for change in changes for offset in (change.before, change.after)}


def seconds_of_hour(line: Cron, offset: int) -> set[int]:
    """The seconds of an hour of UTC that `line` names, under one of `hour_offsets`."""
    return {
        (minute * 60 + second - offset) % HOUR
        for minute in from_bits(line.minutes)
        for second in from_bits(line.seconds)
    }


def as_intervals(seconds: set[int]) -> set[Interval]:
    """The same seconds of every hour, in the shortest cycle: `*/5` is one interval of five minutes, not
    twelve.
    """
    cycle = next(
        span
        for span in range(1, HOUR + 1)
        if HOUR % span == 0 and all((second + span) % HOUR in seconds for second in seconds)
    )
    return {(cycle, second) for second in seconds if second < cycle}
