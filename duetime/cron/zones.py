"""Time zones by their IANA names, and what is to be said of a name that is none or hardly meant."""

from difflib import get_close_matches
from zoneinfo import ZoneInfo

from duetime.contracts.zones import VERSION, file_of, names, zone_of
from duetime.cron.errors import ZoneError

__all__ = ["VERSION", "check_zone", "definition", "load_zone", "names"]

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


def load_zone(name: str) -> ZoneInfo:
    """The zone of a name that `check_zone` accepted; `ZoneError` for any other."""
    check_zone(name)
    return zone_of(name)


def definition(name: str) -> bytes:
    """The zone as the database has it, a TZif file (RFC 9636)."""
    check_zone(name)
    return file_of(name)


def check_zone(name: object) -> tuple[str, ...]:
    """Warnings about a zone that exists; `ZoneError` with the nearest name for one that does not."""
    if not isinstance(name, str):
        raise ZoneError("a time zone is a name", hint="write one such as 'Europe/Paris'")
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
