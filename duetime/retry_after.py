"""`Retry-After` as RFC 9110 section 10.2.3 defines it: a whole number of seconds, or one of the three date
formats.

Nothing else is accepted. `int()` would take `+5` and Arabic digits, and the date parsers of the library would
take zones that HTTP does not have and give back naive values. What does not parse is ignored: the caller's own
back-off holds.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})"
_SECONDS = re.compile(r"\d{1,18}", re.ASCII)
_DATES = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"{_DAY}, (?P<day>\d{{2}}) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT",  # IMF-fixdate
        rf"{_LONG_DAY}, (?P<day>\d{{2}})-{_MONTH}-(?P<year>\d{{2}}) {_TIME} GMT",  # RFC 850
        rf"{_DAY} {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",  # asctime
    )
)


def retry_after(lines: Sequence[str], now: datetime, longest: timedelta) -> timedelta | None:
    """How long a server asks to be left alone, at most `longest`.

    `lines` are the values of all `Retry-After` fields of the answer, `now` is an aware time. `None` when
    there is nothing to honour: no field, more than one (it is not a list), not valid, `0`, or a date that has
    passed.
    """
    if len(lines) != 1:
        return None
    text = lines[0].strip(" \t")
    if _SECONDS.fullmatch(text):
        wait = timedelta(seconds=min(int(text), int(longest.total_seconds()) + 1))
    else:
        date = _parse_date(text, now)
        wait = date - now if date else timedelta(0)
    return min(wait, longest) if wait > timedelta(0) else None


def _parse_date(text: str, now: datetime) -> datetime | None:
    match = next(filter(None, (form.fullmatch(text) for form in _DATES)), None)
    if match is None:
        return None
    year = int(match["year"])
    if len(match["year"]) == 2:
        # "more than 50 years in the future" means the century before (RFC 9110 section 5.6.7).
        year += now.year // 100 * 100
        year -= 100 if year > now.year + 50 else 0
    try:
        return datetime(
            year,
            _MONTHS.index(match["month"]) + 1,
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            min(int(match["second"]), 59) if match["second"] == "60" else int(match["second"]),  # leap second
            tzinfo=UTC,
        )
    except ValueError:
        return None
