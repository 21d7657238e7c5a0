"""Time zones by their IANA names, all from one database: the `tzdata` package.

The machine's own database is never read, so every process of a deployment computes the same instants, and
`VERSION` says from which edition. (zoneinfo would prefer the machine's.)
"""

from difflib import get_close_matches
from functools import cache
from importlib import resources
from io import BytesIO
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]

from duetime.cron.errors import ZoneError

#: The edition of the IANA time zone database in use, such as `2026b`.
VERSION: str = tzdata.IANA_VERSION

_LONGEST_NAME = 64

#: Fixed offsets that read like zones with daylight saving: valid names, most likely not meant.
_FIXED = {"EST": "America/New_York", "MST": "America/Denver", "HST": "Pacific/Honolulu"}
#: Abbreviations people write that are no names in the database, some of them shared by several places.
_ABBREVIATIONS = {
    "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "BST": "Europe/London", "CDT": "America/Chicago",
    "CEST": "Europe/Berlin", "CST": "America/Chicago or Asia/Shanghai", "EDT": "America/New_York",
    "EEST": "Europe/Athens", "IST": "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem", "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul", "MDT": "America/Denver", "MSK": "Europe/Moscow", "PDT": "America/Los_Angeles",
    "PST": "America/Los_Angeles", "SGT": "Asia/Singapore",
}  # fmt: skip


@cache
def names() -> frozenset[str]:
    """Every name accepted; `Factory`, the database's word for "not set up yet", is not a place."""
    listed = resources.files("tzdata").joinpath("zones").read_text("utf-8").split()
    return frozenset(listed) - {"Factory"}


@cache
def load_zone(name: str) -> ZoneInfo:
    """The zone of a name that `check_zone` accepted; `ZoneError` for any other."""
    return ZoneInfo.from_file(BytesIO(definition(name)), key=name)


def definition(name: str) -> bytes:
    """The zone as the database has it, a TZif file (RFC 9636)."""
    check_zone(name)
    return resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()


def check_zone(name: object) -> tuple[str, ...]:
    """Warnings about a zone that exists; `ZoneError` with the nearest name for one that does not."""
    if not isinstance(name, str):
        raise ZoneError("a time zone is a name", hint="write one such as 'Europe/Paris'")
    # Only listed names reach the file system.
    if name not in names():
        shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
        raise ZoneError(f"unknown time zone {shown!r}", hint=_nearest(name))
    if name in _FIXED:
        return (
            f"'{name}' is a fixed offset without daylight saving: '{_FIXED[name]}' follows the clocks there",
        )
    return ()


def _nearest(name: str) -> str:
    tidy = name.strip()
    if not tidy or len(name) > _LONGEST_NAME:
        return "write a name such as 'Europe/Paris' or 'UTC'"
    if tidy.upper() in _ABBREVIATIONS:
        return f"an abbreviation is not a place: write {_ABBREVIATIONS[tidy.upper()]}"
    if tidy.removeprefix("UTC").removeprefix("GMT")[:1] in ("+", "-"):
        return "an offset is not a place: write a name such as 'Europe/Paris' or 'UTC'"
    folded = {known.casefold(): known for known in names()}
    near = get_close_matches(tidy.casefold().replace(" ", "_"), folded, n=1)
    return f"did you mean '{folded[near[0]]}'?" if near else "write a name such as 'Europe/Paris' or 'UTC'"
