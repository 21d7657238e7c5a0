"""What a rule leaves out, by its wall clock."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duetime.cron import Cron, CronError, fires, next_fire, read_rule
from duetime.cron.fires import instants
from tests.cron.strategies import cron_lines
from tests.support.alone import alone

AFTER = datetime(2026, 12, 23, 12, tzinfo=UTC)


def local(after: datetime, count: int = 4, **rule: Any) -> list[str]:
    return [f"{fire.local:%m-%d %H:%M:%S}" for fire in islice(fires(read_rule(**rule), after), count)]


def test_a_date_is_a_day_of_the_rule_s_zone() -> None:
    found = local(
        AFTER, cron="30 6,23 * * *", timezone="Pacific/Auckland", exclude=["2026-12-25", date(2026, 12, 26)]
    )
    assert found == ["12-24 06:30:00", "12-24 23:30:00", "12-27 06:30:00", "12-27 23:30:00"]


def test_a_line_of_five_fields_leaves_out_whole_minutes() -> None:
    found = local(AFTER, cron="50/5 59 23 * * *", exclude=[{"cron": "59 23 24-31 12 *"}])
    assert found == ["12-23 23:59:50", "12-23 23:59:55", "01-01 23:59:50", "01-01 23:59:55"]


def test_a_line_of_six_fields_leaves_out_its_seconds() -> None:
    found = local(AFTER, cron="*/15 0 0 * * *", exclude=[{"cron": "15-59 * * * * *"}])
    assert found == ["12-24 00:00:00", "12-25 00:00:00", "12-26 00:00:00", "12-27 00:00:00"]


def test_all_words_of_the_dialect_exclude() -> None:
    found = local(AFTER, cron="0 9 * * *", exclude=[{"cron": "* * L * *"}, {"cron": "* * * * FRI#4,SUN"}])
    assert found == ["12-24 09:00:00", "12-26 09:00:00", "12-28 09:00:00", "12-29 09:00:00"]


def test_exact_spans_are_excluded_by_the_wall_clock_too() -> None:
    found = local(
        datetime(2026, 3, 8, 5, 59, tzinfo=UTC),
        every="30m",
        timezone="America/New_York",
        exclude=[{"cron": "* 3 * * *"}],
    )
    assert found == ["03-08 01:00:00", "03-08 01:30:00", "03-08 04:00:00", "03-08 04:30:00"]


def test_instants_are_excluded_too() -> None:
    christmas, boxing = datetime(2026, 12, 24, 12, tzinfo=UTC), datetime(2026, 12, 25, 12, tzinfo=UTC)
    found = local(AFTER, at=[christmas, boxing], timezone="Pacific/Auckland", exclude=["2026-12-25"])
    assert found == ["12-26 01:00:00"]


@pytest.mark.parametrize(
    ("excluded", "fires_at_three"),
    [
        ("* 2 * * *", False),  # the time it was meant for
        ("* 3 * * *", False),  # the time it would be
        ("* 4 * * *", True),
        ("0-29 2 * * *", True),
    ],
)
def test_a_time_made_up_for_is_excluded_by_either_of_its_times(excluded: str, fires_at_three: bool) -> None:
    rule = read_rule(cron="30 2 * * *", timezone="America/New_York", exclude=[{"cron": excluded}])
    made_up = datetime(2026, 3, 8, 7, tzinfo=UTC)
    found = next_fire(rule, datetime(2026, 3, 8, 5, tzinfo=UTC))
    assert (found is not None and found.utc == made_up) is fires_at_three


def test_excluded_times_can_be_listed() -> None:
    rule = read_rule(cron="0 12 * * *", exclude=["2026-12-25"])
    found = list(fires(rule, AFTER, datetime(2026, 12, 26, 12, tzinfo=UTC), with_excluded=True))
    assert [(fire.utc.day, fire.tags) for fire in found] == [(24, ()), (25, ("excluded",)), (26, ())]


def test_an_excluded_time_that_was_made_up_for_says_both() -> None:
    rule = read_rule(cron="30 2 * * *", timezone="America/New_York", exclude=["2026-03-08"])
    found = next(fires(rule, datetime(2026, 3, 8, 5, tzinfo=UTC), with_excluded=True))
    assert (found.utc.hour, found.tags) == (7, ("dst_gap", "excluded"))


def test_excluded_instants_of_a_list_and_a_span_can_be_listed() -> None:
    noon = datetime(2026, 12, 25, 12, tzinfo=UTC)
    for rule in (
        read_rule(at=[noon], exclude=["2026-12-25"]),
        read_rule(every="1d", offset="12h", exclude=["2026-12-25"]),
    ):
        found = next(fires(rule, datetime(2026, 12, 25, tzinfo=UTC), with_excluded=True))
        assert (found.utc, found.tags) == (noon, ("excluded",))


@pytest.mark.parametrize(
    "rule",
    [
        {"cron": "* * * * *", "exclude": [{"cron": "* * * * *"}]},
        {"cron": "* * * * * *", "exclude": [{"cron": "* 0-11 * * *"}, {"cron": "* 12-23 * * *"}]},
        {"cron": "0 0 29 2 *", "exclude": [{"cron": "* * * 2 *"}], "timezone": "Europe/London"},
        {"every": "1s", "exclude": [{"cron": "* 0-11 * * *"}, {"cron": "* 12-23 * * *"}]},
        {"every": "4h", "exclude": [{"cron": "0 */4 * * *"}]},
    ],
)  # fmt: skip
def test_a_rule_that_leaves_everything_out_ends(rule: dict[str, Any]) -> None:
    assert next_fire(read_rule(**rule), AFTER) is None


@given(every=st.sampled_from(("1s", "7s", "90s", "7m", "1h", "90m", "25h", "3601s")), excluded=cron_lines)
@settings(max_examples=60, deadline=None)
def test_what_a_line_excludes_is_what_it_names(every: str, excluded: str) -> None:
    try:
        rule = read_rule(every=every, exclude=[{"cron": excluded}], schedule_id="any")
        named = read_rule(cron=excluded, schedule_id="any")
    except CronError:
        assume(False)
    (line,) = named.lines
    assert isinstance(line, Cron)
    until = AFTER + (timedelta(hours=5) if every.endswith("s") else timedelta(days=60))
    whole = 1 if line.has_seconds else 60
    left_out = {time // whole for time, _ in instants(named, AFTER - timedelta(minutes=1), until)}
    expected = [
        time for time, _ in instants(read_rule(every=every), AFTER, until) if time // whole not in left_out
    ]
    assert [time for time, _ in instants(rule, AFTER, until)] == expected


#: Everything but a second of the year, in fifty lines; and everything.
_NEARLY_ALL = [{"cron": line} for line in ("1-59 * * * * *", "1-59 * * * *", "* 1-23 * * *", "* * * 2-12 *")]
_ALL = [{"cron": f"{minute}-{minute + 10} * * * *"} for minute in range(50)]


def test_a_search_takes_few_steps_however_much_is_left_out() -> None:
    """Counted, not timed: a search day by day would take tens of millions."""
    rules: list[dict[str, Any]] = [
        {"cron": [f"{second}-59,0-{second} * * * * *" for second in range(8)]},
        {"cron": [f"{second}-59,0-{second} 0-59 0-23 * * *" for second in range(8)]},
        {"every": "2s", "offset": "1s"},
        {"every": "3601s"},
    ]
    cases = [
        rule | {"exclude": exclude, "timezone": "Europe/London"}
        for rule in rules
        for exclude in (_NEARLY_ALL, _ALL)
    ]
    counted = alone("tests.cron.counting:count", cases)
    for case, (calls, found) in zip(cases, counted, strict=True):
        assert calls < 1_000_000, (case, calls)
        assert bool(found) is (case["exclude"] == _NEARLY_ALL and "offset" not in case), case
