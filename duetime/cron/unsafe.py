"""The hours around a change of the clock that must not be left to the server's own reading.

The server fires a wall time in the hour before a repeated one again an hour later, loses one pass or invents
one, and takes half-hour gaps for the time after them, depending on the zone. In every other hour its
calendars are exact. It also asks for the weekday of a midnight that does not exist, so on such dates weekdays
cannot be left to it at all.
"""

from dataclasses import dataclass

from duetime.cron.clock import DAY, HOUR, Change


@dataclass(frozen=True)
class Unsafe:
    """What a change touches. Days are counted from 1970-01-01, hours are bits 0-23."""

    hours: dict[int, int]
    #: Days whose midnight is skipped.
    no_midnight: frozenset[int]
    #: The same hours as instants, `end` excluded.
    start: int
    end: int


def unsafe_around(change: Change) -> Unsafe:
    low, high = sorted((change.at + change.before, change.at + change.after))
    first = low // HOUR - (change.jump < 0)
    last = (high - 1) // HOUR
    hours: dict[int, int] = {}
    for hour in range(first, last + 1):
        hours[hour // 24] = hours.get(hour // 24, 0) | 1 << hour % 24
    midnights = range(-(-low // DAY), -(-high // DAY)) if change.jump > 0 else range(0)
    return Unsafe(
        hours,
        frozenset(midnights),
        start=first * HOUR - change.before,
        end=(last + 1) * HOUR - change.after,
    )
