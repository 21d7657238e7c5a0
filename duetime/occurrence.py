"""The nominal time of what a schedule started: `<schedule>~-<nominal time>` is the id that it gives."""

import re
from dataclasses import dataclass
from datetime import datetime

from duetime.contracts.instants import parse_instant

_ID = re.compile(r"(?P<schedule>.+)~-(?P<nominal>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")


@dataclass(frozen=True)
class Occurrence:
    """One time of a schedule, as its rule names it."""

    schedule_id: str
    nominal_time: datetime


def occurrence_of(workflow_id: str) -> Occurrence | None:
    """The occurrence that has this id; `None` for what no schedule started."""
    found = _ID.fullmatch(workflow_id)
    if found is None:
        return None
    try:
        return Occurrence(found["schedule"], parse_instant(found["nominal"]))
    except ValueError:
        return None
