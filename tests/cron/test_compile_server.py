"""The server's own list of matching times is exactly what the rule says: nothing missing, nothing extra."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, note, settings

from duetime.cron import Rule, RuleError, check_fires, read_rule
from duetime.cron.clock import changes_between
from duetime.cron.compile import MAX_ENTRIES, Compiled, compile_rule
from duetime.cron.fires import instants
from tests.cron.conftest import Enumerate, instant
from tests.cron.strategies import rules

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = datetime(2030, 12, 31, tzinfo=UTC)
#: A rule of more fires than this is compared around the changes of the clock only.
MANY = 1_500
EXAMPLES = int(os.environ.get("DUETIME_CRON_EXAMPLES", "40"))

Span = tuple[int, int]


def spans_to_compare(rule: Rule, until: datetime) -> list[Span]:
    first, last = int(NOW.timestamp()), int(until.timestamp())
    if len(list(islice(instants(rule, NOW, until), MANY))) < MANY:
        return [(first, last)]
    changes = changes_between(rule.timezone, first, last)
    return [(change.at - 7 * 3600, change.at + 7 * 3600) for change in islice(changes, 10)] or [
        (first, first + 432_000)
    ]


def by_the_rule(rule: Rule, spans: Iterable[Span]) -> list[int]:
    return [
        time
        for after, until in spans
        for time, _ in instants(rule, datetime.fromtimestamp(after, UTC), datetime.fromtimestamp(until, UTC))
    ]


def differences(expected: list[int], found: list[int]) -> dict[str, list[str]]:
    def shown(times: set[int]) -> list[str]:
        return [datetime.fromtimestamp(time, UTC).isoformat() for time in sorted(times)[:6]]

    both = {"missing": set(expected) - set(found), "extra": set(found) - set(expected)}
    return {what: shown(times) for what, times in both.items() if times}


@given(rule=rules())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_any_rule_fires_on_the_server_as_it_reads(enumerate_times: Enumerate, rule: Rule) -> None:
    try:
        check_fires(rule, NOW)
        compiled = compile_rule(rule, NOW, timedelta(days=1_830))
    except RuleError as error:
        event(f"refused: {error.reason[:20]}")
        return
    event("for ever" if compiled.exact_until is None else "up to a horizon")
    spec = compiled.spec
    note(f"{rule}\n{spec}\n{compiled.entries} entries until {compiled.exact_until}")
    assert compiled.entries == len(spec.calendars) + len(spec.intervals) + len(spec.skip) <= MAX_ENTRIES
    spans = spans_to_compare(rule, min(UNTIL, compiled.exact_until or UNTIL))
    expected = by_the_rule(rule, spans)
    found = await enumerate_times(spec, spans)
    assert differences(expected, found) == {}
    assert found == expected


async def compare(
    enumerate_times: Enumerate, compiled: Compiled, rule: Rule, after: str, until: str
) -> list[int]:
    spans = [(instant(after), instant(until))]
    found = await enumerate_times(compiled.spec, spans)
    assert differences(by_the_rule(rule, spans), found) == {}
    return found


@pytest.mark.parametrize(
    ("rule", "now", "after", "until", "count"),
    [
        # Corrections of the clock of three hours, forth and back.
        ({"cron": "30 1 * * *", "timezone": "Antarctica/Casey"}, "2021-01-01", "2021-01-01", "2023-06-01", 880),
        ({"cron": "*/20 0-3 * * *", "timezone": "Antarctica/Casey"}, "2021-01-01", "2021-03-01", "2021-03-30", 348),
        ({"cron": "0 0 * * *", "timezone": "Antarctica/Vostok"}, "2023-01-01", "2023-12-01", "2024-01-01", 31),
        # The weekday of a day whose midnight is skipped.
        ({"cron": "0 9 * * SUN", "timezone": "America/Santiago"}, "2026-01-01", "2026-01-01", "2029-01-01", 157),
        ({"cron": "0 9 * * SAT", "timezone": "America/Santiago"}, "2026-01-01", "2026-01-01", "2029-01-01", 157),
        # Too many times in the hours of a change to name them one by one.
        ({"cron": "*/10 * * * * SUN", "timezone": "Europe/London"}, "2026-01-01",
         "2026-10-24T21:00Z", "2026-10-25T06:00Z", 2_521),
        ({"cron": "* 0-6 * * *", "timezone": "Australia/Lord_Howe"}, "2026-01-01",
         "2026-04-04T10:00Z", "2026-04-05T10:00Z", 450),
        ({"cron": "*/7 0-6 * * *", "timezone": "Australia/Lord_Howe", "exclude": ["2026-04-06"]}, "2026-01-01",
         "2026-03-01", "2026-05-01", 3_784),
        # A leap day, and the last working day of each month.
        ({"cron": "0 0 29 2 *", "timezone": "Asia/Tokyo"}, "2026-01-01", "2026-01-01", "2099-01-01", 18),
        ({"cron": "30 17 LW * *", "timezone": "Asia/Tokyo"}, "2026-01-01", "2026-01-01", "2034-01-01", 96),
        # Lists of instants, with exclusions; never again fifty years on.
        ({"at": [datetime(2026, 5, day, 9, 30, day, tzinfo=UTC) for day in range(1, 29)], "exclude": ["2026-05-03"]},
         "2026-01-01", "2026-01-01", "2100-01-01", 27),
        # Exact spans.
        ({"every": "36h", "offset": "1h", "timezone": "America/New_York", "exclude": [{"cron": "* 9 * * *"}]},
         "2026-01-01", "2026-01-01", "2027-01-01", 165),
        # Calendar days that no calendar knows by their number, far beyond the horizon.
        ({"every": "10d", "offset": "2h", "timezone": "UTC"}, "2026-01-01", "2026-01-01", "2099-01-01", 2_666),
    ],
)  # fmt: skip
async def test_rules_of_the_edge(
    enumerate_times: Enumerate, rule: dict[str, Any], now: str, after: str, until: str, count: int
) -> None:
    read = read_rule(**rule)
    compiled = compile_rule(read, datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert len(await compare(enumerate_times, compiled, read, after, until)) == count


async def test_the_server_takes_our_edition_of_the_zone_not_its_own(enumerate_times: Enumerate) -> None:
    rule = read_rule(cron="0 12 * * *", timezone="Europe/Paris")
    spec = compile_rule(rule, NOW).spec
    tokyo = compile_rule(read_rule(cron="0 12 * * *", timezone="Asia/Tokyo"), NOW).spec
    spec.time_zone_data = tokyo.time_zone_data
    (found,) = await enumerate_times(spec, [(instant("2026-06-01"), instant("2026-06-02"))])
    assert found == instant("2026-06-01T03:00Z")


async def test_bounds_reach_the_server(enumerate_times: Enumerate) -> None:
    # Both between two seconds, and at a due time: the start is part of the rule, the end is not.
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    for shift, hours in ((timedelta(0), [12, 13, 14]), (timedelta(microseconds=1), [13, 14, 15])):
        rule = read_rule(cron="@hourly", start_at=noon + shift, end_at=noon + timedelta(hours=3) + shift)
        found = await compare(enumerate_times, compile_rule(rule, NOW), rule, "2026-01-01", "2027-01-01")
        assert [datetime.fromtimestamp(time, UTC).hour for time in found] == hours


async def test_a_specification_is_exact_for_what_is_still_to_be_caught_up(enumerate_times: Enumerate) -> None:
    rule = read_rule(cron="30 1 * * *", timezone="Europe/London")
    compiled = compile_rule(rule, datetime(2026, 11, 24, tzinfo=UTC))
    assert len(await compare(enumerate_times, compiled, rule, "2026-10-24T12:00Z", "2026-10-26T12:00Z")) == 2


async def test_beyond_the_horizon_the_plain_calendars_go_on(enumerate_times: Enumerate) -> None:
    rule = read_rule(cron="30 1 * * *", timezone="America/New_York")
    spans = [(instant("2040-01-01"), instant("2041-01-01"))]
    found = set(await enumerate_times(compile_rule(rule, NOW).spec, spans))
    expected = set(by_the_rule(rule, spans))
    assert expected < found
    assert len(found - expected) == 1  # the second 01:30 of the day the clocks go back
