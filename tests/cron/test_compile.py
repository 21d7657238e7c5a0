"""What a rule becomes for the server, and until when that is exact."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import ScheduleSpec

from duetime.cron import RuleError, read_rule
from duetime.cron.compile import MAX_ENTRIES, SHORTEST_HORIZON, Compiled, compile_rule
from duetime.cron.zones import VERSION, definition

NOW = datetime(2026, 11, 30, tzinfo=UTC)
HORIZON = timedelta(days=1_461)


def compiled(horizon: timedelta = HORIZON, **rule: Any) -> Compiled:
    return compile_rule(read_rule(**rule), NOW, horizon)


@pytest.mark.parametrize(
    "rule",
    [
        {"cron": "30 2 * * *"},
        {"cron": "30 2 * * *", "timezone": "UTC"},
        {"cron": "30 2 * * *", "timezone": "Asia/Kolkata"},
        {"cron": "0 9 * * 1-5", "timezone": "America/New_York"},
        {"cron": "*/15 * * * *", "timezone": "America/New_York"},
        {"cron": "* * * * *", "timezone": "Australia/Lord_Howe"},
        {"every": "90m", "timezone": "America/New_York"},
        {"at": [NOW]},
        {"cron": "30 2 * * *", "timezone": "Europe/Paris", "end_at": NOW + timedelta(days=1_000)},
    ],
)
def test_a_rule_that_no_change_of_the_clock_can_touch_needs_no_horizon(rule: dict[str, Any]) -> None:
    done = compiled(**rule)
    assert (done.exact_until, done.renew_at) == (None, None)


def test_a_rule_that_one_can_touch_is_to_be_renewed_in_the_middle_of_its_horizon() -> None:
    done = compiled(cron="30 2 * * *", timezone="Europe/Paris")
    assert done.exact_until == NOW + HORIZON
    assert done.renew_at == NOW + HORIZON / 2


def test_the_horizon_counts_from_the_start() -> None:
    start = NOW + timedelta(days=365)
    done = compiled(cron="30 2 * * *", timezone="Europe/Paris", start_at=start)
    assert done.exact_until == start + HORIZON


def test_what_the_clocks_leave_alone_is_one_calendar() -> None:
    done = compiled(cron="*/20 9-17 * * 1-5", timezone="America/New_York")
    (calendar,) = done.spec.calendars
    assert [(each.start, each.end, each.step) for each in calendar.minute] == [(0, 40, 20)]
    assert [(each.start, each.end) for each in calendar.hour] == [(9, 17)]
    assert [(each.start, each.end) for each in calendar.day_of_week] == [(1, 5)]
    assert done.entries == 1


def test_the_same_in_every_hour_is_one_interval() -> None:
    (interval,) = compiled(cron="*/5 * * * *", timezone="Pacific/Chatham").spec.intervals
    assert (interval.every, interval.offset) == (timedelta(minutes=5), timedelta(0))
    (interval,) = compiled(cron="7 * * * *", timezone="Pacific/Chatham").spec.intervals
    assert (interval.every, interval.offset) == (timedelta(hours=1), timedelta(minutes=22))


def test_either_day_is_two_calendars() -> None:
    assert len(compiled(cron="0 0 13 * 5").spec.calendars) == 2


def test_lines_that_say_the_same_are_one() -> None:
    assert compiled(cron=["0 5 * * *", "00 05 * * *"]).entries == 1


def test_the_zone_s_definition_is_sent_along() -> None:
    spec = compiled(cron="30 2 * * *", timezone="Europe/Paris").spec
    message = spec._to_proto()
    assert message.timezone_name == "Europe/Paris"
    assert message.timezone_data == definition("Europe/Paris")
    assert isinstance(spec, ScheduleSpec)
    assert compiled(cron="@daily").spec._to_proto().timezone_data == b""
    assert compiled(cron="@daily").zones_version == VERSION


def test_jitter_is_handed_on() -> None:
    for rule in (read_rule(cron="@daily"), read_rule(at=[NOW])):
        spec = compile_rule(rule, NOW, jitter=timedelta(minutes=2)).spec
        assert spec.jitter == timedelta(minutes=2)


def test_exclusions_are_skipped_by_the_wall_clock() -> None:
    done = compiled(
        cron="@hourly",
        timezone="Europe/Paris",
        exclude=["2026-12-24", "2026-12-25", "2020-01-01", {"cron": "* * L * *"}],
    )
    dates = [skip for skip in done.spec.skip if skip.year and [each.start for each in skip.year] == [2026]]
    assert [(each.start, each.end) for skip in dates for each in skip.day_of_month] == [(24, 25)]
    assert len(done.spec.skip) == 5  # December's dates, and the last day by the four lengths of a month


def test_a_rule_of_many_times_gets_a_shorter_horizon_rather_than_a_refusal() -> None:
    done = compiled(cron=["0-59 0-6 * * *", "@daily"], timezone="America/New_York")
    assert done.exact_until is not None
    assert NOW + SHORTEST_HORIZON <= done.exact_until < NOW + HORIZON
    assert done.entries <= MAX_ENTRIES


@pytest.mark.parametrize(
    "rule",
    [
        {"cron": "* 0-59 0-6 * * *", "timezone": "America/New_York"},
        {"cron": ["* */2 * * * SUN", "@daily"], "timezone": "America/New_York"},
    ],
)
def test_more_than_the_server_can_be_told_is_refused_with_the_way_out(rule: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match=f"{MAX_ENTRIES:,}") as caught:
        compiled(**rule)
    assert "UTC" in caught.value.hint


@pytest.mark.parametrize(
    ("rule", "silenced"),
    [
        ({"cron": "* * * * * *", "exclude": [{"cron": "* * 1-9 12 *"}]}, False),
        ({"cron": "* * * * * *", "exclude": [{"cron": "* * 1-12 12 *"}]}, True),
        ({"every": "1s", "exclude": [{"cron": "* * * 12 *"}]}, True),
        ({"cron": "* * * * *", "exclude": [{"cron": "* * * 1-10,12 *"}]}, False),
        ({"cron": "* * * * *", "exclude": [{"cron": "* * * 1,3-12 *"}, {"cron": "* * 1-28 2 *"}]}, True),
        ({"cron": "* * * * *", "exclude": [{"cron": "* * * * *"}]}, True),
        (
            {"cron": "*/10 * * * * SUN", "timezone": "Europe/London", "exclude": [{"cron": "* * * 1-5 *"}]},
            True,
        ),
        (
            {"cron": "*/10 * * * * SUN", "timezone": "Europe/London", "exclude": [{"cron": "* * * 1 *"}]},
            False,
        ),
        ({"cron": "0 9 * * *", "exclude": [{"cron": "* * * 1-11 *"}]}, False),
    ],
)
def test_exclusions_may_not_silence_a_rule_for_longer_than_the_server_searches(
    rule: dict[str, Any], silenced: bool
) -> None:
    if not silenced:
        assert compiled(**rule).spec.skip
        return
    with pytest.raises(RuleError, match="silence") as caught:
        compiled(**rule)
    assert caught.value.path == ("exclude",)


@pytest.mark.parametrize("zone", ["UTC", "Europe/London", "Africa/Casablanca", "Pacific/Apia"])
def test_the_worst_of_the_day_fields_stays_small(zone: str) -> None:
    worst = ",".join(f"{day}W" for day in range(1, 32)) + ",LW," + ",".join(f"L-{back}" for back in range(20))
    done = compiled(cron=f"30 1 {worst} * *", timezone=zone)
    assert done.entries <= 250


def test_instants_beyond_what_the_server_knows_are_refused() -> None:
    with pytest.raises(RuleError) as caught:
        compiled(at=[datetime(2101, 1, 1, tzinfo=UTC)])
    assert caught.value.path == ("at",)


def test_compiling_is_a_function_of_its_arguments() -> None:
    rule = read_rule(cron=["30 1 * * *", "0 2 * * SUN"], timezone="Europe/London", exclude=["2026-12-25"])
    assert compile_rule(rule, NOW) == compile_rule(rule, NOW)
    assert compile_rule(rule, NOW.astimezone()) == compile_rule(rule, NOW)
