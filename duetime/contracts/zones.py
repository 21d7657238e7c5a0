"""The time zone database: the `tzdata` package, and no other.

The machine's own is never read (zoneinfo would prefer it), so every process of a deployment computes the same
instants, and `VERSION` says from which edition.
"""

from functools import cache
from importlib import resources
from io import BytesIO
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]

#: The edition of the IANA time zone database in use, such as `2026b`.
VERSION: str = tzdata.IANA_VERSION


@cache
def names() -> frozenset[str]:
    """Every name accepted; `Factory`, the database's word for "not set up yet", is not a place."""
    listed = resources.files("tzdata").joinpath("zones").read_text("utf-8").split()
    return frozenset(listed) - {"Factory"}


@cache
def zone_of(name: str) -> ZoneInfo:
    """The zone of one of `names()`; `KeyError` for anything else."""
    return ZoneInfo.from_file(BytesIO(file_of(name)), key=name)


def file_of(name: str) -> bytes:
    """The zone as the database has it, a TZif file (RFC 9636); `KeyError` unless it is one of `names()`."""
    if name not in names():  # only listed names reach the file system
        raise KeyError(name)
    return resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()
