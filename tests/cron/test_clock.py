"""The changes of a zone's clock, and wall-clock times as instants."""

from datetime import UTC, datetime
from itertools import islice, pairwise

import pytest

from duetime.cron import at_wall_clock
from duetime.cron.clock import Change, changes_between, changes_in, offset_at, stretches
from tests.cron.conftest import instant

H = 3_600


@pytest.mark.parametrize(
    ("zone", "year", "expected"),
    [
        ("America/New_York", 2026, [("2026-03-08T07:00Z", -5, -4), ("2026-11-01T06:00Z", -4, -5)]),
        ("Europe/London", 2026, [("2026-03-29T01:00Z", 0, 1), ("2026-10-25T01:00Z", 1, 0)]),
        ("Australia/Lord_Howe", 2026, [("2026-04-04T15:00Z", 11, 10.5), ("2026-10-03T15:30Z", 10.5, 11)]),
        ("America/Santiago", 2026, [("2026-04-05T03:00Z", -3, -4), ("2026-09-06T04:00Z", -4, -3)]),
        ("Antarctica/Troll", 2026, [("2026-03-29T01:00Z", 0, 2), ("2026-10-25T01:00Z", 2, 0)]),
        ("Pacific/Apia", 2011, [("2011-04-02T14:00Z", -10, -11), ("2011-09-24T14:00Z", -11, -10),
                                ("2011-12-30T10:00Z", -10, 14)]),
        ("Asia/Kolkata", 2026, []),
        ("UTC", 2026, []),
        ("Europe/London", 2090, [("2090-03-26T01:00Z", 0, 1), ("2090-10-29T01:00Z", 1, 0)]),
    ],
)  # fmt: skip
def test_changes(zone: str, year: int, expected: list[tuple[str, float, float]]) -> None:
    changes = [Change(instant(at), int(before * H), int(after * H)) for at, before, after in expected]
    assert list(changes_in(zone, year)) == changes


def test_three_hours_are_a_correction() -> None:
    (casey,) = changes_between("Antarctica/Casey", instant("2023-03-01T00:00Z"), instant("2023-04-01T00:00Z"))
    assert (casey.jump, casey.is_correction) == (-3 * H, True)
    assert not changes_in("Antarctica/Troll", 2026)[0].is_correction


@pytest.mark.parametrize("zone", ["UTC", "Europe/London", "Africa/Casablanca", "Australia/Lord_Howe"])
@pytest.mark.parametrize(
    "start", ["2020-01-01T00:00Z", "2025-10-26T01:10Z", "2025-10-26T01:00Z", "2025-12-31T23:59Z"]
)
def test_stretches_follow_on_each_other_with_one_offset_each(zone: str, start: str) -> None:
    found = list(islice(stretches(zone, instant(start)), 30))
    assert found[0].start <= instant(start) < found[0].end
    for stretch in found:
        assert offset_at(zone, stretch.start) == offset_at(zone, stretch.end - 1) == stretch.offset
    for left, right in pairwise(found):
        assert (left.end, left.closed) == (right.start, right.opened)
        assert (left.closed is None) == (left.offset == right.offset)


def test_a_stretch_begun_within_a_day_knows_what_opened_it() -> None:
    stretch = next(stretches("Europe/London", instant("2026-10-25T01:30Z")))
    assert stretch.opened == Change(instant("2026-10-25T01:00Z"), H, 0)


@pytest.mark.parametrize(
    ("wall", "zone", "expected"),
    [
        ("2026-03-08T02:30", "America/New_York", "2026-03-08T07:00Z"),
        ("2026-11-01T01:30", "America/New_York", "2026-11-01T05:30Z"),
        ("2026-07-01T12:00", "Europe/Paris", "2026-07-01T10:00Z"),
        ("2026-10-04T02:10", "Australia/Lord_Howe", "2026-10-03T15:30Z"),
        ("2011-12-30T12:00", "Pacific/Apia", "2011-12-30T10:00Z"),
        ("2026-09-06T00:00", "America/Santiago", "2026-09-06T04:00Z"),
    ],
)
def test_a_wall_clock_time_as_an_instant(wall: str, zone: str, expected: str) -> None:
    assert at_wall_clock(datetime.fromisoformat(wall), zone) == datetime.fromisoformat(expected)


def test_a_wall_clock_time_before_all_years() -> None:
    with pytest.raises(OverflowError):
        at_wall_clock(datetime.min, "Asia/Tokyo")
    assert at_wall_clock(datetime(2026, 1, 1), "UTC") == datetime(2026, 1, 1, tzinfo=UTC)
