"""Which edition of the time zone database is in use, and whether it is old."""

import re
from datetime import date

from duetime.contracts.zones import VERSION
from duetime.doctor.findings import Finding, ok, warning

#: An edition, such as `2026b`.
_EDITION = re.compile(r"(20\d\d)[a-z]{1,2}")
_OLD_YEARS = 1
_FIX = "pip install --upgrade tzdata: governments change their clocks at will"


def examine_zones(today: date) -> list[Finding]:
    """One finding."""
    return [verdict(VERSION, today)]


def verdict(known: str, today: date) -> Finding:
    """What the edition means."""
    year = _EDITION.fullmatch(known)
    if year is None:
        return warning("time-zones", "the time zone database does not say which edition it is", _FIX)
    if int(year[1]) < today.year - _OLD_YEARS:
        return warning("time-zones", f"the time zone database is {known}, years old", _FIX)
    return ok("time-zones", f"the time zone database is {known}")
