"""When rules fire, as instants of UTC: the cases that schedulers of this field have got wrong in public."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from duetime.cron import Fire, RuleError, check_fires, fires, next_fire, read_rule
from duetime.cron.rule import Gap, Overlap


def times(found: Sequence[Fire]) -> list[str]:
    return [f"{fire.utc:%Y-%m-%dT%H:%M:%SZ}".replace(":00Z", "Z") for fire in found]


def first(
    count: int, after: str, cron: str, zone: str, gap: Gap = "after", overlap: Overlap = "first"
) -> list[str]:
    rule = read_rule(cron=cron, timezone=zone, gap=gap, overlap=overlap)
    return times(list(islice(fires(rule, datetime.fromisoformat(after)), count)))


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # A skipped time is made up for at the end of the gap, once, and nothing of it sticks.
        ("30 2 * * *", "America/New_York", "2026-03-07T00:00Z",
         ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]),
        ("0 2 * * *", "America/Los_Angeles", "2025-03-08T00:00Z",
         ["2025-03-08T10:00Z", "2025-03-09T10:00Z", "2025-03-10T09:00Z"]),
        ("0,15,30 2 * * *", "America/New_York", "2026-03-08T00:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:00Z"]),
        ("30 2,3 * * *", "America/New_York", "2026-03-08T00:00Z",
         ["2026-03-08T07:00Z", "2026-03-08T07:30Z", "2026-03-09T06:30Z"]),
        # A skipped time and a real one at the same instant are one.
        ("0 2,3 * * *", "America/New_York", "2026-03-08T00:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:00Z"]),
        # A gap at midnight.
        ("0 0 * * *", "America/Santiago", "2026-09-05T00:00Z",
         ["2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"]),
        ("30 0 * * FRI", "Africa/Cairo", "2026-04-20T00:00Z", ["2026-04-23T22:00Z", "2026-04-30T21:30Z"]),
        # Half an hour.
        ("0 2 * * *", "Australia/Lord_Howe", "2026-10-02T00:00Z",
         ["2026-10-02T15:30Z", "2026-10-03T15:30Z", "2026-10-04T15:00Z"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-03T00:00Z",
         ["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"]),
        # Two hours.
        ("30 1 * * *", "Antarctica/Troll", "2026-03-28T02:00Z", ["2026-03-29T01:00Z", "2026-03-29T23:30Z"]),
        # A time that comes twice fires in the first pass only.
        ("30 1 * * *", "America/New_York", "2026-10-31T00:00Z",
         ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
        ("0 7-21 * * *", "Europe/Paris", "2023-10-28T18:30Z",
         ["2023-10-28T19:00Z", "2023-10-29T06:00Z", "2023-10-29T07:00Z"]),
        # Stars follow the wall clock.
        ("0 */2 * * *", "America/Toronto", "2023-03-12T04:30Z",
         ["2023-03-12T05:00Z", "2023-03-12T08:00Z", "2023-03-12T10:00Z", "2023-03-12T12:00Z"]),
        ("*/15 2 * * *", "America/New_York", "2026-03-07T08:00Z", ["2026-03-09T06:00Z", "2026-03-09T06:15Z"]),
        ("*/30 1 * * *", "America/New_York", "2026-11-01T00:00Z",
         ["2026-11-01T05:00Z", "2026-11-01T05:30Z", "2026-11-01T06:00Z", "2026-11-01T06:30Z", "2026-11-02T06:00Z"]),
        ("30 * * * *", "Europe/Helsinki", "2017-10-28T23:00Z",
         ["2017-10-28T23:30Z", "2017-10-29T00:30Z", "2017-10-29T01:30Z", "2017-10-29T02:30Z", "2017-10-29T03:30Z"]),
        ("20 */4 * * *", "America/Los_Angeles", "2023-03-12T04:00Z",
         ["2023-03-12T04:20Z", "2023-03-12T08:20Z", "2023-03-12T11:20Z", "2023-03-12T15:20Z", "2023-03-12T19:20Z"]),
        # A change of three hours or more is a correction of the clock: nothing is made up for, nothing held back.
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00Z", ["2011-12-29T22:00Z", "2011-12-30T22:00Z"]),
        ("30 1 * * *", "Antarctica/Casey", "2021-10-02T00:00Z", ["2021-10-03T14:30Z", "2021-10-04T14:30Z"]),
        ("0 0 * * *", "Antarctica/Casey", "2023-03-07T12:30Z",
         ["2023-03-07T13:00Z", "2023-03-08T13:00Z", "2023-03-08T16:00Z", "2023-03-09T16:00Z"]),
        # Calendar days, not 86,400 seconds.
        ("0 12 * * 0", "Europe/Berlin", "2022-03-24T00:00Z", ["2022-03-27T10:00Z", "2022-04-03T10:00Z"]),
        # Leap days, 2100 being none.
        ("0 9 29 2 *", "UTC", "2016-02-29T09:00Z", ["2020-02-29T09:00Z"]),
        ("0 9 29 2 *", "UTC", "2026-01-01T00:00Z", ["2028-02-29T09:00Z", "2032-02-29T09:00Z"]),
        ("0 9 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T09:00Z"]),
        # A leap day on a Sunday: the longest wait there is.
        ("0 0 29 2 */7", "UTC", "2072-01-01T00:00Z", ["2088-02-29T00:00Z", "2128-02-29T00:00Z"]),
        # Both day fields.
        ("30 4 1,15 * 5", "UTC", "2026-01-01T00:00Z",
         [f"2026-01-{day}T04:30Z" for day in ("01", "02", "09", "15", "16", "23", "30")] + ["2026-02-01T04:30Z"]),
        ("0 0 13 * 5", "UTC", "2026-01-01T00:00Z",
         [f"2026-01-{day}T00:00Z" for day in ("02", "09", "13", "16", "23", "30")] + ["2026-02-06T00:00Z"]),
        ("0 8 15-17 * MON", "UTC", "2026-03-01T00:00Z",
         [f"2026-03-{day}T08:00Z" for day in ("02", "09", "15", "16", "17", "23", "30")]),
        ("0 0 30 2 1", "UTC", "2026-01-01T00:00Z", ["2026-02-02T00:00Z", "2026-02-09T00:00Z"]),
        # Month ends.
        ("0 0 31 * *", "UTC", "2025-12-31T00:00Z",
         [f"2026-{month}-31T00:00Z" for month in ("01", "03", "05", "07", "08", "10", "12")] + ["2027-01-31T00:00Z"]),
        ("0 0 */5 * *", "UTC", "2026-02-20T00:00Z",
         [f"2026-{day}T00:00Z" for day in ("02-21", "02-26", "03-01", "03-06")]),
        ("0 0 1 1 *", "UTC", "2026-01-01T00:00Z", ["2027-01-01T00:00Z"]),
        # Seconds first.
        ("30 59 23 31 12 *", "Asia/Seoul", "2026-01-01T00:00Z", ["2026-12-31T14:59:30Z"]),
        ("*/20 30 2 8 3 *", "America/New_York", "2026-03-01T00:00Z", ["2026-03-08T07:00Z", "2027-03-08T07:30Z"]),
    ],
)  # fmt: skip
def test_the_first_fires(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert first(len(expected), after, cron, zone) == expected


@pytest.mark.parametrize(
    ("cron", "gap", "overlap", "expected"),
    [
        ("30 1 * * *", "after", "first", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
        ("30 1 * * *", "after", "last", ["2026-11-01T06:30Z", "2026-11-02T06:30Z"]),
        ("30 1 * * *", "after", "both", ["2026-11-01T05:30Z", "2026-11-01T06:30Z", "2026-11-02T06:30Z"]),
        ("0 0-2 * * *", "after", "last", ["2026-11-01T04:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"]),
        # The policies are for fixed times; a star keeps to the clock.
        ("*/30 1 * * *", "skip", "last", ["2026-11-01T05:00Z", "2026-11-01T05:30Z", "2026-11-01T06:00Z"]),
    ],
)
def test_the_policy_chooses_the_pass_of_a_repeated_hour(
    cron: str, gap: Gap, overlap: Overlap, expected: list[str]
) -> None:
    assert first(len(expected), "2026-11-01T02:00Z", cron, "America/New_York", gap, overlap) == expected


def test_the_policy_may_leave_skipped_times_out() -> None:
    found = first(2, "2026-03-07T12:00Z", "30 2 * * *", "America/New_York", gap="skip")
    assert found == ["2026-03-09T06:30Z", "2026-03-10T06:30Z"]
    # 03:00 is no skipped time.
    found = first(2, "2026-03-07T12:00Z", "0 2,3 * * *", "America/New_York", gap="skip")
    assert found == ["2026-03-08T07:00Z", "2026-03-09T06:00Z"]


def test_a_repeat_that_spans_midnight_stays_in_order() -> None:
    # Until 2011 the clocks of Newfoundland went back at 00:01, so that 23:01 to 00:01 came twice.
    found = first(4, "2010-11-07T00:00Z", "30 23 * * *", "America/St_Johns", overlap="both")
    assert found[:2] == ["2010-11-07T02:00Z", "2010-11-07T03:00Z"]
    found = first(3, "2010-11-07T00:00Z", "0 0 * * *", "America/St_Johns", overlap="both")
    assert found == ["2010-11-07T02:30Z", "2010-11-07T03:30Z", "2010-11-08T03:30Z"]


def tags(cron: str, zone: str, after: str, overlap: Overlap = "first") -> dict[str, tuple[str, ...]]:
    rule = read_rule(cron=cron, timezone=zone, overlap=overlap)
    found = list(islice(fires(rule, datetime.fromisoformat(after)), 4))
    return dict(zip(times(found), [fire.tags for fire in found], strict=True))


def test_fires_say_what_the_clock_did() -> None:
    assert tags("30 2 * * *", "America/New_York", "2026-03-07T12:00Z") == {
        "2026-03-08T07:00Z": ("dst_gap",),
        "2026-03-09T06:30Z": (),
        "2026-03-10T06:30Z": (),
        "2026-03-11T06:30Z": (),
    }
    assert tags("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", overlap="both") == {
        "2026-11-01T05:30Z": ("dst_repeat",),
        "2026-11-01T06:30Z": ("dst_repeat",),
        "2026-11-02T06:30Z": (),
        "2026-11-03T06:30Z": (),
    }


def test_the_local_time_carries_the_offset_of_its_pass() -> None:
    rule = read_rule(cron="*/30 1 * * *", timezone="America/New_York")
    found = list(fires(rule, datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 1, 12, tzinfo=UTC)))
    assert [fire.local.isoformat() for fire in found[1:3]] == [
        "2026-11-01T01:30:00-04:00",
        "2026-11-01T01:00:00-05:00",
    ]


def test_a_span_is_open_at_its_beginning_and_closed_at_its_end() -> None:
    rule = read_rule(cron="*/10 * * * *")
    start, end = datetime(2026, 1, 1, 10, tzinfo=UTC), datetime(2026, 1, 1, 10, 30, tzinfo=UTC)
    assert times(list(fires(rule, start, end))) == [f"2026-01-01T10:{minute}Z" for minute in (10, 20, 30)]
    assert next(fires(rule, start, inclusive=True)).utc == start
    later = start + timedelta(microseconds=1)
    assert next(fires(rule, later, inclusive=True)).utc == start + timedelta(minutes=10)
    assert times(list(fires(rule, start, start + timedelta(minutes=9, seconds=59, microseconds=999)))) == []


def test_instants_need_an_offset() -> None:
    rule = read_rule(cron="@daily")
    with pytest.raises(ValueError, match="offset"):
        next_fire(rule, datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="offset"):
        next(fires(rule, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2)))


def test_a_list_of_lines_is_their_union_and_each_instant_comes_once() -> None:
    rule = read_rule(cron=["0 */2 * * *", "0 */3 * * *", "@every 4h"])
    found = list(fires(rule, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 12, tzinfo=UTC)))
    assert [fire.utc.hour for fire in found] == [2, 3, 4, 6, 8, 9, 10, 12]


def test_lines_of_one_rule_each_keep_their_own_daylight_saving() -> None:
    rule = read_rule(cron=["30 2 * * *", "*/30 * * * *"], timezone="America/New_York")
    found = list(
        fires(rule, datetime(2026, 3, 8, 6, 15, tzinfo=UTC), datetime(2026, 3, 8, 7, 30, tzinfo=UTC))
    )
    assert [(fire.utc.hour, fire.utc.minute, fire.tags) for fire in found] == [
        (6, 30, ()),
        (7, 0, ("dst_gap",)),
        (7, 30, ()),
    ]


def test_bounds_start_included_end_excluded() -> None:
    rule = read_rule(
        cron="@hourly",
        start_at=datetime(2026, 1, 1, 3, tzinfo=UTC),
        end_at=datetime(2026, 1, 1, 6, tzinfo=UTC),
    )
    found = list(fires(rule, datetime(2025, 1, 1, tzinfo=UTC)))
    assert [fire.utc.hour for fire in found] == [3, 4, 5]
    assert next_fire(rule, datetime(2026, 1, 1, 5, tzinfo=UTC)) is None


def test_bounds_between_two_seconds() -> None:
    just_after = datetime(2026, 1, 1, 3, microsecond=1, tzinfo=UTC)
    rule = read_rule(cron="@hourly", start_at=just_after, end_at=just_after + timedelta(hours=2))
    assert [fire.utc.hour for fire in fires(rule, datetime(2025, 1, 1, tzinfo=UTC))] == [4, 5]


def test_a_rule_without_a_due_time_is_told_so() -> None:
    rule = read_rule(cron="0 0 1 1 *", end_at=datetime(2026, 12, 1, tzinfo=UTC))
    check_fires(rule, datetime(2025, 6, 1, tzinfo=UTC))
    with pytest.raises(RuleError, match="never fires"):
        check_fires(rule, datetime(2026, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize("year", [1, 1969, 9_997, 9_999])
def test_the_ends_of_time_are_no_error(year: int) -> None:
    for zone in ("UTC", "Pacific/Kiritimati", "America/New_York"):
        rule = read_rule(cron="@daily", timezone=zone)
        found = next_fire(rule, datetime(year, 6, 1, tzinfo=UTC))
        assert (found is None) == (year > 9_997)
