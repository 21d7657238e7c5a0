"""What holds for every rule in every zone; and a second opinion from cronsim, which has Debian's semantics."""

import os
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duetime.cron import Cron, CronError, fires, in_words, load_zone, read_rule
from duetime.cron.fires import instants
from duetime.cron.rule import Rule
from tests.cron.strategies import ZONES, five_fields, rules

EXAMPLES = int(os.environ.get("DUETIME_CRON_EXAMPLES", "40"))
moments = st.datetimes(datetime(2012, 1, 1), datetime(2036, 1, 1), timezones=st.just(UTC))

#: cronsim goes wrong for lines with stars where clocks change by half an hour, at midnight, or not on the hour.
PLAIN_ZONES = (
    "UTC",
    "America/New_York",
    "Europe/London",
    "Europe/Athens",
    "Australia/Sydney",
    "Asia/Kathmandu",
)


@given(rule=rules(), after=moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_fires_only_go_forward(rule: Rule, after: datetime) -> None:
    found = list(islice(fires(rule, after), 30))
    assert all(fire.utc > after for fire in found)
    for left, right in pairwise(found):
        assert left.utc < right.utc
        assert next(fires(rule, left.utc)) == right
    for fire in found:
        assert fire.local.astimezone(UTC) == fire.utc
        assert rule.start_at is None or fire.utc >= rule.start_at
        assert rule.end_at is None or fire.utc < rule.end_at
        assert not rule.exclude.covers(int(fire.local.replace(tzinfo=UTC).timestamp()))
    assert in_words(rule)


@given(rule=rules(), after=moments, hours=st.integers(1, 24 * 40))
@settings(max_examples=EXAMPLES, deadline=None)
def test_consecutive_spans_add_up(rule: Rule, after: datetime, hours: int) -> None:
    middle, until = after + timedelta(hours=hours), after + timedelta(hours=2 * hours)
    whole = list(islice(instants(rule, after, until), 5_000))
    assume(len(whole) < 5_000)
    assert whole == [*instants(rule, after, middle), *instants(rule, middle, until)]


@given(rule=rules(), after=moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_excluded_and_fired_times_are_those_of_the_rule_without_exclusions(
    rule: Rule, after: datetime
) -> None:
    until = after + timedelta(days=30)
    listed = list(islice(instants(rule, after, until, with_excluded=True), 3_000))
    assume(len(listed) < 3_000)
    fired = {time for time, flags in listed if not flags & 2}
    assert [time for time, _ in instants(rule, after, until)] == sorted(fired)


@given(cron=five_fields, zone=st.sampled_from(ZONES), after=moments)
@settings(max_examples=2 * EXAMPLES, deadline=None)
def test_cronsim_agrees(cron: str, zone: str, after: datetime) -> None:
    assume(not any(word in cron for word in ("W", "L-", "-SUN", "SUNL")))  # not in its dialect
    try:
        rule = read_rule(cron=cron, timezone=zone)
    except CronError:
        assume(False)
    (line,) = rule.lines
    assert isinstance(line, Cron)
    assume(zone in PLAIN_ZONES or not line.follows_clock)
    until = after + timedelta(days=3 * 366)
    expected: list[int] = []
    # Without this cronsim looks for fifty years.
    assume(next(instants(rule, after, until), None))
    for local in islice(CronSim(cron, after.astimezone(load_zone(zone))), 400):
        expected.append(int(local.timestamp()))
        if local > until:
            break
    found = [time for time, _ in instants(rule, after, datetime.fromtimestamp(expected[-1], UTC))]
    # cronsim lists each skipped time; made up for, they are one.
    assert found == sorted(set(expected))
