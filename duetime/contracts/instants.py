"""Instants on the wire: RFC 3339 with an offset, or a wall time together with a time zone name."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from duetime.contracts.zones import names, zone_of

_RFC3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?"
    r"(?P<offset>[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?",
    re.ASCII,
)
_HOW = 'write RFC 3339 with an offset, as "2027-01-15T09:00:00+01:00"'
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_instant(text: str, timezone: str | None = None) -> datetime:
    """The instant that `text` names, in UTC. `ValueError` says what is wrong.

    With `timezone`, `text` is a wall time of that zone: one that a clock change skips becomes the first instant
    after the gap, one that comes twice is the first of the two, as cron(8) does.
    """
    parsed, offset = _parse(text)
    try:
        if timezone is None:
            if not offset:
                raise ValueError(f'has no offset: {_HOW}, or name a "timezone"')
            instant = parsed.astimezone(UTC)
        elif offset:
            raise ValueError('has an offset and a "timezone": leave out one of them')
        else:
            instant = from_wall_time(parsed, find_zone(timezone))
    except OverflowError:
        raise ValueError("is outside the years 1970 to 9999") from None
    return _after_epoch(instant)


def parse_in_zone(text: str, in_zone: Callable[[datetime], datetime]) -> datetime:
    """The instant that `text` names, in UTC: by its offset, or by what `in_zone` makes of a wall time.

    `ValueError` says what is wrong.
    """
    parsed, offset = _parse(text)
    try:
        return _after_epoch(parsed.astimezone(UTC) if offset else in_zone(parsed))
    except OverflowError:
        raise ValueError("is outside the years 1970 to 9999") from None


def _parse(text: str) -> tuple[datetime, bool]:
    """What `text` says, and whether with an offset."""
    match = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"not an instant: {_HOW}")
    try:
        return datetime.fromisoformat(text.upper()), bool(match["offset"])
    except ValueError as error:
        raise ValueError(f"not an instant, {error}: {_HOW}") from None


def _after_epoch(instant: datetime) -> datetime:
    if instant < EPOCH:
        raise ValueError("is before 1970")
    return instant


def find_zone(name: str) -> ZoneInfo:
    """The zone of an IANA name; `ValueError` for anything else, paths and wrong case included."""
    if name not in names():
        nearest = next((known for known in names() if known.lower() == name.strip().lower()), None)
        hint = f"did you mean {nearest!r}?" if nearest else 'use an IANA name such as "Europe/Paris"'
        raise ValueError(f"unknown time zone {name[:64]!r}: {hint}")
    return zone_of(name)


def from_wall_time(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant in UTC at which clocks in `zone` show `wall`; the end of the gap when they never do."""
    first = wall.replace(tzinfo=zone, fold=0)
    instant = first.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == wall:
        return instant
    return _end_of_gap(instant, zone)


def _end_of_gap(after: datetime, zone: ZoneInfo) -> datetime:
    """The change of offset, a whole second, that lies less than a day before `after`."""
    new = after.astimezone(zone).utcoffset()
    low, high = -86_400, 0
    while high - low > 1:
        middle = (low + high) // 2
        if (after + timedelta(seconds=middle)).astimezone(zone).utcoffset() == new:
            high = middle
        else:
            low = middle
    return (after + timedelta(seconds=high)).replace(microsecond=0)


def format_instant(instant: datetime) -> str:
    """`instant` in RFC 3339, in UTC with `Z`; fractions only when there are any."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
