"""A second opinion from croniter, over random lines, wherever its dialect and ours say the same.

Not where they part: docs/decisions/cron-reading.md has those, with values, and the tests below hold them.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from croniter import croniter
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from duetime.cron import Cron, CronError, Rule, load_zone, read_rule
from duetime.cron.fires import instants
from tests.cron.strategies import ZONES, five_fields, six_fields

EXAMPLES = int(os.environ.get("DUETIME_CRON_EXAMPLES", "40"))
moments = st.datetimes(datetime(2026, 1, 1), datetime(2031, 1, 1))

#: The last Friday is `5L` here and in Quartz, and `L5` there.
_LAST_WEEKDAY = re.compile(r"\b(\d)L\b")


def shared(line: str, **fields: Any) -> Rule:
    """The rule of `line`; a line that the two read differently on purpose is not drawn."""
    # A range of one value, `2-2`, is once round the clock to croniter.
    assume(not re.search(r"\b(\d+)-\1\b", line))
    assume("L-" not in line and "LW" not in line and "SUNL" not in line and "-SUN" not in line)
    try:
        rule = read_rule(cron=line, **fields)
    except CronError:
        assume(False)
    note(line)
    (cron,) = rule.lines
    assert isinstance(cron, Cron)
    dates, weekdays = cron.days.dates, cron.days.weekdays
    # `*/2` is a star to cron and none to croniter.
    assume(not cron.days.both_must_match or dates.all or weekdays.all)
    # `15W` stands alone there, both day fields must match with it, and `29W` is the 28th of February.
    assume(not re.search(r"W,|,\d+W", line))
    assume(not dates.nearest or (weekdays.all and max(dates.nearest) < 29))
    # With `#` or `L` it forgets the day of the month.
    assume(not ((weekdays.nth or weekdays.last) and not dates.all))
    # Of a list that mixes plain weekdays with `#` or `L` it forgets a part.
    assume(not ((weekdays.nth or weekdays.last) and (weekdays.plain or (weekdays.nth and weekdays.last))))
    return rule


def by_croniter(line: str, after: datetime, until: datetime, most: int) -> list[int]:
    found: list[int] = []
    line = _LAST_WEEKDAY.sub(r"L\1", line)
    for time in islice(croniter(line, after, second_at_beginning=True).all_next(datetime), most):
        if time > until:
            break
        found.append(int(time.timestamp()))
    return found


@given(line=st.one_of(five_fields, six_fields), after=moments)
@settings(max_examples=2 * EXAMPLES, deadline=None)
def test_it_agrees_where_clocks_do_not_change(line: str, after: datetime) -> None:
    rule, after = shared(line), after.replace(tzinfo=UTC)
    until = after + timedelta(days=5 * 366)
    expected = [time for time, _ in islice(instants(rule, after, until), 200)]
    assume(expected)
    assert by_croniter(line, after, until, 200)[: len(expected)] == expected


@given(line=five_fields, zone=st.sampled_from(ZONES), after=moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_it_agrees_on_fixed_times_in_both_passes_of_a_repeat(line: str, zone: str, after: datetime) -> None:
    rule = shared(line, timezone=zone, overlap="both")
    assume(not rule.lines[0].follows_clock)  # type: ignore[union-attr]
    local = after.replace(tzinfo=load_zone(zone))
    until = local + timedelta(days=400)
    expected = [time for time, _ in islice(instants(rule, local, until), 400)]
    assume(expected)
    # It lists a skipped time although a real one falls on the same instant.
    found = sorted(set(by_croniter(line, local, until, 400)))
    assert found[: len(expected)] == expected[: len(found)]
