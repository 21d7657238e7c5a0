"""How many runs all schedules start in each minute, and what would spread them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.cron import Cron, fires, parse, read_rule
from duetime.schedules import forecast as forecasting
from duetime.schedules.flatter import hashed
from duetime.schedules.forecast import Forecast, Planned, TooMany, forecast
from tests.cron.strategies import rules

START = datetime(2026, 11, 30, 8, 42, 17, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def many(count: int = 1_000, **rule: Any) -> list[Planned]:
    names = [f"schedule-{number}" for number in range(count)]
    return [Planned(name, read_rule(schedule_id=name, **rule)) for name in names]


def at(found: Forecast, minute: int) -> str:
    return f"{found.start + minute * MINUTE:%d %H:%M}"


def test_a_thousand_at_the_same_minute_are_named_and_h_would_spread_them() -> None:
    found = forecast(many(cron="0 * * * *"), START, 24)
    assert sum(found.minutes) == 24_000
    peak = found.peaks[0]
    assert (at(found, peak.minute), peak.starts, peak.share, len(peak.of)) == ("30 09:00", 1_000, 1, 1_000)
    (change,) = found.changes
    assert (change.line, change.cron, len(change.of)) == ("0 * * * *", "H * * * *", 1_000)
    assert found.flatter is not None
    assert found.flatter.share <= 0.04


@pytest.mark.parametrize(
    "plans",
    [
        many(cron="H * * * *"),
        [replace(plan, jitter=HOUR, is_stable=True) for plan in many(cron="0 * * * *")],
        [replace(plan, jitter=HOUR) for plan in many(cron="0 * * * *")],
    ],
    ids=["H", "stable jitter", "random jitter"],
)
def test_no_minute_of_a_thousand_that_are_spread_holds_more_than_a_share_of_four_percent(
    plans: list[Planned],
) -> None:
    found = forecast(plans, datetime(2026, 11, 30, 8, tzinfo=UTC), 24)
    assert sum(found.minutes) == pytest.approx(24_000)
    for hour in range(24):
        minutes = found.minutes[60 * hour : 60 * hour + 60]
        assert max(minutes) <= 0.04 * sum(minutes)
    assert found.flatter is None


def test_spans_are_spread_by_a_stable_jitter() -> None:
    found = forecast(many(every="30m"), START, 3)
    (change,) = found.changes
    assert (change.line, change.cron, change.jitter) == ("30m", None, 30 * MINUTE)
    assert found.flatter is not None
    assert found.flatter.starts < 60


def test_what_is_spread_already_is_left_alone() -> None:
    apart = [
        *many(30, cron="0 9 * * *"),
        *(replace(plan, jitter=HOUR) for plan in many(10, cron="0 9 * * *")),
    ]
    found = forecast(apart, START, 24)
    assert [(change.line, change.cron, len(change.of)) for change in found.changes] == [
        ("0 9 * * *", "H 9 * * *", 30)
    ]


def test_one_schedule_is_no_herd() -> None:
    found = forecast(many(1, cron="0 9 * * *"), START, 24)
    assert len(found.peaks) == 1
    assert (found.changes, found.flatter) == ([], None)


def test_nothing_planned_is_nothing_foreseen() -> None:
    assert forecast([], START, 2) == Forecast(START.replace(second=0), [0.0] * 120)


def test_a_random_jitter_counts_in_parts_up_to_the_next_start() -> None:
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    plan = Planned("a", read_rule(cron="0 12 * * *"), jitter=4 * MINUTE)
    assert forecast([plan], noon, 1).minutes[:6] == [0.25, 0.25, 0.25, 0.25, 0, 0]
    # Half of it was before the forecast began.
    assert forecast([plan], noon + 2 * MINUTE, 1).minutes[:3] == [0.25, 0.25, 0]
    crowded = Planned("a", read_rule(cron="*/2 * * * *"), jitter=HOUR)
    assert set(forecast([crowded], noon, 1).minutes[:58]) == {0.5}
    thirds = Planned("a", read_rule(cron="30 0 12 * * *"), jitter=1.5 * MINUTE)
    assert forecast([thirds], noon, 1).minutes[:3] == pytest.approx([1 / 3, 2 / 3, 0])


def test_what_will_not_start_is_not_counted() -> None:
    plan = Planned("a", read_rule(cron="0 * * * *"))
    resumed = START.replace(hour=11, minute=0, second=0)
    eleven_on = forecast([replace(plan, paused_until=resumed)], START, 5)
    assert [at(eleven_on, minute) for minute, starts in enumerate(eleven_on.minutes) if starts] == [
        "30 11:00", "30 12:00", "30 13:00"]  # fmt: skip
    assert sum(forecast([replace(plan, runs_left=2)], START, 5).minutes) == 2
    without = forecast([replace(plan, left_out=frozenset({resumed}))], START, 5)
    assert sum(without.minutes) == 4
    assert without.minutes[(11 - 8) * 60 - 42] == 0


def test_more_than_can_be_computed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasting, "MOST_STARTS", 10_000)
    same = many(1_000, cron="* * * * *")
    assert sum(forecast(same, START, 24).minutes) == 1_440_000  # said once, computed once
    other = [
        replace(plan, rule=read_rule(cron=f"{second} * * * * *")) for second, plan in enumerate(same[:20])
    ]
    with pytest.raises(TooMany, match="10,000"):
        forecast(other, START, 24)


@given(planned=st.lists(rules(), max_size=4))
@settings(max_examples=30, deadline=None)
def test_every_start_is_counted_once(planned: list[Any]) -> None:
    start = START.replace(second=0)
    plans = [Planned(str(number), rule) for number, rule in enumerate(planned)]
    found = forecast(plans, start, 6)
    expected = [0.0] * 360
    for rule in planned:
        for fire in islice(
            fires(rule, start, start + 6 * HOUR - timedelta(seconds=1), inclusive=True), 50_000
        ):
            expected[(fire.utc - start) // MINUTE] += 1
    assert found.minutes == expected
    assert [peak.starts for peak in found.peaks] == sorted(filter(None, expected), reverse=True)[:10]


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("0 * * * *", "H * * * *"),
        ("30 2 * * MON-FRI # nightly", "H 2 * * MON-FRI"),
        ("0 0,12 1 * *", "H 0,12 1 * *"),
        ("*/15 9-17 * * *", "H/15 9-17 * * *"),
        ("0,30 * * * *", "H/30 * * * *"),
        ("5-59/10 * * * *", "H/10 * * * *"),
        ("20 0 * * * *", "20 H * * * *"),
        ("@hourly", "H * * * *"),
        ("@Daily", "H 0 * * *"),
        ("@weekly", "H 0 * * 0"),
        ("* * * * *", None),
        ("*/7 * * * *", None),
        ("0,10 * * * *", None),
        ("H * * * *", None),
        ("0 H * * *", None),
    ],
)
def test_the_minute_that_everybody_writes_is_left_to_the_id(line: str, instead: str | None) -> None:
    cron = parse(line, "any")
    assert isinstance(cron, Cron)
    changed = hashed(cron, "any")
    assert (changed and changed.text) == instead
