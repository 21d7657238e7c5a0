"""Where croniter and the server's own reading of cron part from ours: the values that docs/decisions/cron-reading.md
gives. A new version that mends one fails here, and the record is then out of date.
"""

from datetime import UTC, datetime
from itertools import takewhile

import pytest
from croniter import CroniterBadDateError, CroniterError, croniter
from temporalio.client import ScheduleSpec

from duetime.cron import RuleError, fires, load_zone, read_rule
from tests.cron.conftest import Enumerate, instant


def ours(cron: str, zone: str, after: str, until: str) -> list[str]:
    rule = read_rule(cron=cron, timezone=zone)
    first, last = (datetime.fromtimestamp(instant(text), UTC) for text in (after, until))
    return [f"{fire.utc:%d %H:%M}" for fire in fires(rule, first, last)]


CRONITER = [
    # A time that comes twice, and a star in a skipped hour.
    ("30 1 * * *", "America/New_York", "2026-11-01T04:00Z", "2026-11-02T00:00Z",
     ["01 05:30", "01 06:30"], ["01 05:30"]),
    ("*/15 2 * * *", "America/New_York", "2026-03-08T05:00Z", "2026-03-09T00:00Z", ["08 07:00"], []),
    ("0 */2 * * *", "America/Toronto", "2026-03-08T06:00Z", "2026-03-08T09:00Z",
     ["08 07:00", "08 08:00"], ["08 08:00"]),
    # `*/2` starts with a star: both day fields must match. The first Monday of an odd number is the 5th.
    ("0 12 */2 * 1", "UTC", "2026-01-01T00:00Z", "2026-01-06T00:00Z",
     ["01 12:00", "03 12:00", "05 12:00"], ["05 12:00"]),
    # A range of one value is not once round the clock.
    ("2-2 6 * * *", "UTC", "2026-01-01T00:00Z", "2026-01-01T06:03Z",
     ["01 06:00", "01 06:01", "01 06:02", "01 06:03"], ["01 06:02"]),
    # Two restricted day fields are either-or, with `#` too. The first Sunday is the 4th.
    ("0 0 2 * SUN#1", "UTC", "2026-01-01T00:00Z", "2026-01-31T00:00Z", ["04 00:00"], ["02 00:00", "04 00:00"]),
    # February has no 29th in 2026.
    ("0 0 29W 2 *", "UTC", "2026-02-01T00:00Z", "2026-03-01T00:00Z", ["27 00:00"], []),
]  # fmt: skip


@pytest.mark.parametrize(("cron", "zone", "after", "until", "theirs", "right"), CRONITER)
def test_croniter_parts(
    cron: str, zone: str, after: str, until: str, theirs: list[str], right: list[str]
) -> None:
    start = datetime.fromtimestamp(instant(after), load_zone(zone))
    found = takewhile(
        lambda time: time.timestamp() <= instant(until), croniter(cron, start).all_next(datetime)
    )
    assert [f"{time.astimezone(UTC):%d %H:%M}" for time in found] == theirs
    assert ours(cron, zone, after, until) == right


def test_croniter_calls_valid_what_never_fires() -> None:
    assert croniter.is_valid("0 0 30 2 *")
    with pytest.raises(CroniterBadDateError):
        croniter("0 0 30 2 *", datetime(2026, 1, 1, tzinfo=UTC)).get_next()
    with pytest.raises(RuleError, match="never fires"):
        read_rule(cron="0 0 30 2 *")


@pytest.mark.parametrize("cron", ["0 0 L-3 * *", "0 0 LW * *", "0 0 * * 5L", "@every 90m"])
def test_croniter_lacks_words_of_the_dialect(cron: str) -> None:
    with pytest.raises(CroniterError):
        croniter(cron)
    assert read_rule(cron=cron)


SERVER = [
    ("0 0 13 * 5", "UTC", "2026-01-12", "2026-02-15", ["13 00:00"],
     ["13 00:00", "16 00:00", "23 00:00", "30 00:00", "06 00:00", "13 00:00"]),
    ("0 0 * * 5#2", "UTC", "2026-01-01", "2026-02-01",
     ["02 00:00", "09 00:00", "16 00:00", "23 00:00", "30 00:00"], ["09 00:00"]),
    ("30 2 * * *", "America/New_York", "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00", [], ["08 07:00"]),
    ("30 1 * * *", "America/New_York", "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00",
     ["01 05:30", "01 06:30"], ["01 05:30"]),
    ("0 0 * * *", "Europe/London", "2026-10-24T22:00Z", "2026-10-25T12:00Z",
     ["24 23:00", "25 00:00"], ["24 23:00"]),
    ("0 * * * *", "Europe/London", "2026-10-24T23:30Z", "2026-10-25T02:30Z", ["25 00:00", "25 02:00"],
     ["25 00:00", "25 01:00", "25 02:00"]),
    ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00Z", "2026-10-03T18:00Z", ["03 15:45"], ["03 15:30"]),
    ("0 0 * * *", "America/Santiago", "2026-09-06T00:00Z", "2026-09-06T12:00Z", [], ["06 04:00"]),
]  # fmt: skip


@pytest.mark.parametrize(("cron", "zone", "after", "until", "theirs", "right"), SERVER)
async def test_the_server_s_own_reading_parts(
    enumerate_times: Enumerate,
    cron: str,
    zone: str,
    after: str,
    until: str,
    theirs: list[str],
    right: list[str],
) -> None:
    spec = ScheduleSpec(cron_expressions=[cron], time_zone_name=zone)
    found = await enumerate_times(spec, [(instant(after), instant(until))])
    assert [f"{datetime.fromtimestamp(time, UTC):%d %H:%M}" for time in found] == theirs
    assert ours(cron, zone, after, until) == right
