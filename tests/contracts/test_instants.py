"""Instants on the wire, and wall times that a clock change skips or repeats."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.contracts.instants import find_zone, format_instant, from_wall_time, parse_instant


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2027-01-15T09:00:00+01:00", "2027-01-15T08:00:00Z"),
        ("2027-01-15t09:00:00z", "2027-01-15T09:00:00Z"),
        ("2027-01-15 09:00:00Z", "2027-01-15T09:00:00Z"),
        ("2027-01-15T09:00:00.25Z", "2027-01-15T09:00:00.250000Z"),
        ("2027-01-15T09:00:00.123456789Z", "2027-01-15T09:00:00.123456Z"),
        ("2027-01-15T09:00:00-00:00", "2027-01-15T09:00:00Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_rfc_3339(text: str, utc: str) -> None:
    assert format_instant(parse_instant(text)) == utc


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not an instant"),
        ("tomorrow", "not an instant"),
        ("2027-01-15", "not an instant"),
        ("2027-01-15T09:00Z", "not an instant"),
        ("2027-01-15T24:00:00Z", "not an instant"),
        ("2027-02-29T09:00:00Z", "not an instant"),
        ("2027-13-01T09:00:00Z", "not an instant"),
        ("2027-01-15T09:00:00+25:00", "not an instant: write RFC 3339"),
        ("2027-01-15T09:00:00+01:60", "not an instant: write RFC 3339"),
        ("٢٠٢٧-01-15T09:00:00Z", "not an instant"),
        ("2027-01-15T09:00:00Z\n", "not an instant"),
        ("0000-01-01T00:00:00Z", "not an instant"),
        (1_800_000_000, "not an instant"),
        (None, "not an instant"),
        ("2027-01-15T09:00:00", "has no offset"),
        ("1969-12-31T23:59:59Z", "before 1970"),
        ("0001-01-01T00:00:00Z", "before 1970"),
        ("0001-01-01T00:00:00+14:00", "outside the years"),
        ("9999-12-31T23:59:59-12:00", "outside the years"),
    ],
)
def test_what_is_no_instant(text: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_instant(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wall", "zone", "utc"),
    [
        # New York, 2026-03-08: 02:00 to 03:00 are skipped, and 2026-11-01 repeats 01:00 to 02:00.
        ("2026-03-08T01:59:59", "America/New_York", "2026-03-08T06:59:59Z"),
        ("2026-03-08T02:00:00", "America/New_York", "2026-03-08T07:00:00Z"),
        ("2026-03-08T02:30:00", "America/New_York", "2026-03-08T07:00:00Z"),
        ("2026-03-08T02:30:00.5", "America/New_York", "2026-03-08T07:00:00Z"),
        ("2026-03-08T03:00:00", "America/New_York", "2026-03-08T07:00:00Z"),
        ("2026-11-01T01:30:00", "America/New_York", "2026-11-01T05:30:00Z"),
        # Half an hour on Lord Howe, midnight in Santiago, a whole day in Apia.
        ("2026-10-04T02:15:00", "Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
        ("2026-04-05T01:45:00", "Australia/Lord_Howe", "2026-04-04T14:45:00Z"),
        ("2026-09-06T00:30:00", "America/Santiago", "2026-09-06T04:00:00Z"),
        ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("2027-01-15T09:00:00", "Europe/Paris", "2027-01-15T08:00:00Z"),
        ("2027-01-15T09:00:00", "UTC", "2027-01-15T09:00:00Z"),
    ],
)
def test_wall_times(wall: str, zone: str, utc: str) -> None:
    assert format_instant(parse_instant(wall, zone)) == utc.replace(".5Z", "Z")


def test_an_offset_and_a_zone_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="leave out one of them"):
        parse_instant("2027-01-15T09:00:00Z", "Europe/Paris")


@pytest.mark.parametrize("wall", ["0001-01-01T00:00:00", "9999-12-31T23:59:59", "1969-01-01T00:00:00"])
def test_wall_times_at_the_ends_of_time(wall: str) -> None:
    with pytest.raises(ValueError, match=r"1970"):
        parse_instant(wall, "America/Los_Angeles")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("", "Europe/Paris"),
        ("../../etc/passwd", "Europe/Paris"),
        ("/etc/localtime", "Europe/Paris"),
        ("america/new_york", "America/New_York"),
        ("Europe/Berlin ", "Europe/Berlin"),
        ("Mars/Olympus", "Europe/Paris"),
        ("UTC+3", "Europe/Paris"),
        ("+03:00", "Europe/Paris"),
        ("tzdata.zi", "Europe/Paris"),
        ("localtime", "Europe/Paris"),
        ("Factory", "Europe/Paris"),
        ("posixrules", "Europe/Paris"),
        ("a\x00b", "Europe/Paris"),
        ("\ud800", "Europe/Paris"),
        ("x" * 5_000, "Europe/Paris"),
    ],
)
def test_what_is_no_zone_comes_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone") as refused:
        find_zone(name)
    text = str(refused.value)
    assert hint in text and len(text) < 400
    text.encode()


@given(
    st.sampled_from(sorted(available_timezones() - {"localtime", "Factory"})),
    st.datetimes(datetime(1971, 1, 1), datetime(2037, 1, 1)),
)
def test_a_wall_time_is_the_first_instant_that_shows_it_or_follows_it(name: str, wall: datetime) -> None:
    zone = ZoneInfo(name)
    instant = from_wall_time(wall, zone)
    shown = instant.astimezone(zone).replace(tzinfo=None)
    assert shown >= wall
    if shown == wall:
        twice = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
        assert instant <= twice
    else:  # skipped: a moment earlier, clocks showed less than what was asked for
        before = (instant - timedelta(microseconds=1)).astimezone(zone).replace(tzinfo=None)
        assert before < wall


def test_instants_are_answered_in_utc() -> None:
    there = datetime(2027, 1, 15, 9, tzinfo=timezone(timedelta(hours=1)))
    assert format_instant(there) == "2027-01-15T08:00:00Z"
