"""How many calls a search takes."""

import sys
from datetime import UTC, datetime, timedelta
from itertools import islice
from types import FrameType
from typing import Any

from duetime.cron import read_rule
from duetime.cron.fires import instants


def count(rules: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Of each rule, see `_count`."""
    return [_count(rule) for rule in rules]


def _count(rule: dict[str, Any]) -> tuple[int, int]:
    """The calls until 500 times or 75 years are through, and how many times there were."""
    read, after = read_rule(**rule), datetime(2026, 12, 23, 12, tzinfo=UTC)
    calls = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        found = list(islice(instants(read, after, after + timedelta(days=75 * 366)), 500))
    finally:
        sys.setprofile(None)
    return calls, len(found)
