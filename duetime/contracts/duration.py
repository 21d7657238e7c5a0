"""Durations as people write them: `"90s"`, `"1h30m"`, ISO 8601 `"PT5M"`, or a number of seconds.

Years and months of ISO 8601 are refused: they are not a span of time but of a calendar. Answers are always in the
first form, so that what comes out can go back in.
"""

import math
import re
from datetime import timedelta

Duration = str | int | float | timedelta

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_COMPACT = re.compile(
    r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?", re.ASCII
)
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?", re.ASCII)
_ISO_CALENDAR = re.compile(r"P(?:\d+[YMWD])*\d+[YM]", re.ASCII)
_HOW = 'write "90s", "1h30m", "PT5M" or a number of seconds'

#: Longest span the engine's timers take (100 years of 365 days).
LONGEST = timedelta(days=36_500)
_LONGEST_SECONDS = int(LONGEST.total_seconds())


def parse_duration(value: Duration) -> timedelta:
    """The span of `value`; `ValueError` says what is wrong and how to write it.

    >>> parse_duration("1h30m")
    datetime.timedelta(seconds=5400)
    >>> parse_duration("PT5M") == parse_duration(300)
    True
    """
    span = _parse(value)
    if span < timedelta(0):
        raise ValueError(f"a duration cannot be negative: {_HOW}")
    if span > LONGEST:
        raise ValueError(f"longer than 100 years: {_HOW}")
    return span


def _parse(value: Duration) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool):
        raise ValueError(f"not a duration: {_HOW}")
    if isinstance(value, int | float):
        return _from_seconds(value)
    if not isinstance(value, str) or len(value) > 64:
        raise ValueError(f"not a duration: {_HOW}")
    if not value.isascii():
        raise ValueError(f"not a duration: {_HOW}")
    match = _COMPACT.fullmatch(value)
    if value and match:
        weeks, days, hours, minutes, seconds, millis = (float(part or 0) for part in match.groups())
        return _from_parts(weeks, days, hours, minutes, seconds + millis / 1000)
    if _ISO_CALENDAR.match(value):
        raise ValueError(f"years and months have no fixed length: {_HOW}")
    match = _ISO.fullmatch(value)
    if match and any(match.groups()) and not value.endswith("T"):
        return _from_parts(*(float((part or "0").replace(",", ".")) for part in match.groups()))
    raise ValueError(f"not a duration: {_HOW}")


def _from_seconds(seconds: float) -> timedelta:
    # Compared before any conversion: an integer of a thousand digits is no float.
    if isinstance(seconds, float) and not math.isfinite(seconds):
        raise ValueError(f"not a duration: {_HOW}")
    if seconds > _LONGEST_SECONDS:
        raise ValueError(f"longer than 100 years: {_HOW}")
    if seconds < 0:
        raise ValueError(f"a duration cannot be negative: {_HOW}")
    return timedelta(seconds=seconds)


def _from_parts(weeks: float, days: float, hours: float, minutes: float, seconds: float) -> timedelta:
    return _from_seconds(weeks * 604_800 + days * 86_400 + hours * 3_600 + minutes * 60 + seconds)


def format_duration(span: timedelta) -> str:
    """`span` in the first form, exact to the millisecond: `"1h30m"`, `"2.5s"`, `"0s"`."""
    millis = round(span / timedelta(milliseconds=1))
    whole, millis = divmod(millis, 1000)
    text = ""
    for unit in ("d", "h", "m"):
        count, whole = divmod(whole, _UNITS[unit])
        text += f"{count}{unit}" if count else ""
    if millis:
        return text + f"{whole}.{millis:03d}".rstrip("0") + "s"
    return text + (f"{whole}s" if whole or not text else "")
