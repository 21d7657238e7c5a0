"""`every`: exact spans, and calendar days when a time zone stands beside whole days."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise

import pytest

from duetime.contracts.duration import Duration
from duetime.cron import At, Every, EveryDays, RuleError, fires, next_fire, read_rule
from duetime.cron.bits import from_bits

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def first(
    count: int, after: datetime, every: Duration, offset: Duration = 0, zone: str | None = None
) -> list[datetime]:
    rule = read_rule(every=every, offset=offset, timezone=zone)
    return [fire.utc for fire in islice(fires(rule, after), count)]


def test_spans_are_counted_from_the_epoch() -> None:
    assert [at.isoformat() for at in first(3, NEW_YEAR, "90m")] == [
        "2026-01-01T01:30:00+00:00",
        "2026-01-01T03:00:00+00:00",
        "2026-01-01T04:30:00+00:00",
    ]
    for span, offset in ((5_400, 0), (5_400, 300), (7, 3), (1, 0), (86_400 * 5, 86_399)):
        for at in first(5, NEW_YEAR, span, offset):
            assert (at.timestamp() - offset) % span == 0


def test_seven_days_in_a_zone_keep_the_wall_clock() -> None:
    # Tuesdays at 16:00 in Brussels: the first Thursday of 1970 plus five days and sixteen hours.
    after = datetime(2019, 3, 26, 14, tzinfo=UTC)
    assert first(2, after, "7d", "5d16h", "Europe/Brussels") == [
        datetime(2019, 3, 26, 15, tzinfo=UTC),
        datetime(2019, 4, 2, 14, tzinfo=UTC),
    ]


@pytest.mark.parametrize("every", ["168h", 604_800, timedelta(days=7), "6d24h", "PT168H"])
def test_seven_days_said_in_hours_are_exact(every: Duration) -> None:
    after = datetime(2019, 3, 26, 14, tzinfo=UTC)
    assert first(2, after, every, "5d15h", "Europe/Brussels") == [
        datetime(2019, 3, 26, 15, tzinfo=UTC),
        datetime(2019, 4, 2, 15, tzinfo=UTC),
    ]


def test_seven_days_without_a_zone_are_exact() -> None:
    (line,) = read_rule(every="7d").lines
    assert line == Every("7d", 7 * 86_400, in_days=True)


@pytest.mark.parametrize("every", ["1d", "1w", "2w1d", "P1D", "P2W", "P1W1D"])
def test_whole_days_and_weeks_are_calendar_days(every: str) -> None:
    (line,) = read_rule(every=every, timezone="Europe/Paris").lines
    assert isinstance(line, EveryDays)


def test_the_same_in_a_list_of_cron_lines() -> None:
    days, hours = read_rule(cron=["@every 1d", "@every 24h"], timezone="Europe/Paris").lines
    assert (type(days), type(hours)) == (EveryDays, Every)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 45, 400])
def test_calendar_days_are_counted_from_1970_through_every_change_of_the_clock(count: int) -> None:
    rule = read_rule(
        every=f"{count}d", offset="1d2h30m" if count > 1 else "2h30m", timezone="America/New_York"
    )
    phase = 1 if count > 1 else 0
    found = list(islice(fires(rule, NEW_YEAR), 40))
    for fire in found:
        assert (fire.local.date() - date(1970, 1, 1)).days % count == phase
        assert (fire.local.hour, fire.local.minute) == ((3, 0) if "dst_gap" in fire.tags else (2, 30))
    for left, right in pairwise(found):
        assert (right.local.date() - left.local.date()).days == count


def test_days_of_a_month_are_counted_on_from_the_month_before() -> None:
    (line,) = read_rule(every="2d", timezone="UTC").lines
    assert isinstance(line, EveryDays)
    # 2026-01-31 and 2026-02-01 are days 20,484 and 20,485 after 1970-01-01.
    assert list(from_bits(line.days_in(2026, 1)))[-1] == 31
    assert next(iter(from_bits(line.days_in(2026, 2)))) == 2


def test_policies_are_for_calendar_days_too() -> None:
    after = datetime(2026, 11, 1, tzinfo=UTC)
    for overlap, hour in (("first", 5), ("last", 6)):
        rule = read_rule(every="1d", offset="1h30m", timezone="America/New_York", overlap=overlap)  # type: ignore[arg-type]
        assert next(fires(rule, after)).utc == datetime(2026, 11, 1, hour, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("every", "offset", "path"),
    [
        ("0s", None, ("every",)),
        ("500ms", None, ("every",)),
        ("1.5s", None, ("every",)),
        ("-1h", None, ("every",)),
        ("P1M", None, ("every",)),
        ("soon", None, ("every",)),
        ("11000d", None, ("every",)),
        (float("inf"), None, ("every",)),
        ("1h", "1h", ("offset",)),
        ("1h", "2h", ("offset",)),
        ("1h", "1ms", ("offset",)),
        ("1h", "later", ("offset",)),
    ],
)
def test_what_is_no_span(every: Duration, offset: Duration | None, path: tuple[str, ...]) -> None:
    with pytest.raises(RuleError) as caught:
        read_rule(every=every, offset=offset)
    assert caught.value.path == path


def test_a_list_of_instants_is_sorted_and_each_comes_once() -> None:
    noon = datetime(2027, 1, 15, 12, tzinfo=UTC)
    same = datetime.fromisoformat("2027-01-15T13:00:00+01:00")
    rule = read_rule(at=[noon + timedelta(days=1), noon, same])
    assert rule.lines == (At((int(noon.timestamp()), int(noon.timestamp()) + 86_400)),)
    assert [fire.utc for fire in fires(rule, NEW_YEAR)] == [noon, noon + timedelta(days=1)]
    assert next_fire(rule, noon + timedelta(days=1)) is None
