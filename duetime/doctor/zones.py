"""Which release of the time zone database this machine goes by, and whether it is old."""

import importlib.metadata
import re
import zoneinfo
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from duetime.doctor.findings import Finding, error, ok, warning

#: Of a release, such as `2026b`.
_RELEASE = re.compile(r"(20\d\d)[a-z]{1,2}")
_OLD_YEARS = 1
_FIX = "pip install --upgrade tzdata, or update the system's tzdata package: governments change their clocks at will"


def examine_zones(today: date) -> list[Finding]:
    """One finding."""
    return [verdict(release(), today)]


def release(folders: Iterable[str] = zoneinfo.TZPATH) -> str | None:
    """The release of the database that `zoneinfo` reads: the first folder that has one, else the package `tzdata`.
    `?` when it does not say; `None` when there is no database at all."""
    there = [Path(folder) for folder in folders if Path(folder, "Europe", "Paris").is_file()]
    if there:
        return _of(there[0]) or "?"
    try:
        package = importlib.metadata.version("tzdata")  # as 2026.1, for 2026a
    except importlib.metadata.PackageNotFoundError:
        return None
    year, _, number = package.partition(".")
    return f"{year}{chr(ord('a') + int(number.partition('.')[0]) - 1)}" if number[:1].isdecimal() else "?"


def _of(folder: Path) -> str | None:
    for name in ("tzdata.zi", "+VERSION", "version"):
        try:
            with open(folder / name, encoding="utf-8", errors="replace") as file:
                if found := _RELEASE.search(file.readline()):
                    return found[0]
        except OSError:
            continue
    return None


def verdict(known: str | None, today: date) -> Finding:
    """What the release means."""
    if known is None:
        return error("time-zones", "there is no time zone database on this machine", _FIX)
    year = _RELEASE.fullmatch(known)
    if year is None:
        return warning("time-zones", "the time zone database does not say which release it is", _FIX)
    if int(year[1]) < today.year - _OLD_YEARS:
        return warning("time-zones", f"the time zone database is {known}, years old", _FIX)
    return ok("time-zones", f"the time zone database is {known}")
