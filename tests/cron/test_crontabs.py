"""Lines as they stand in crontabs of real systems, with what comes next after midnight of 1 March 2026 (a Sunday)."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from duetime.cron import fires, read_rule

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("* */1 * * *", ["01 00:00", "01 00:01", "01 00:02"]),
        ("*/17 * * * *", ["01 00:00", "01 00:17", "01 00:34"]),
        ("1,31 0-5 * * *", ["01 00:01", "01 00:31", "01 01:01"]),
        ("15,30,45,59 * * * *", ["01 00:15", "01 00:30", "01 00:45"]),
        ("5-55/10 * * * *", ["01 00:05", "01 00:15", "01 00:25"]),
        ("23 0-23/2 * * *", ["01 00:23", "01 02:23", "01 04:23"]),
        ("55 22,23,0,1,2 * * *", ["01 00:55", "01 01:55", "01 02:55"]),
        ("30 4 */7 * *", ["01 04:30", "08 04:30", "15 04:30"]),
        ("17 12 */4 * *", ["01 12:17", "05 12:17", "09 12:17"]),
        ("47 6 * * 7", ["01 06:47", "08 06:47", "15 06:47"]),
        ("5 4 * * sun", ["01 04:05", "08 04:05", "15 04:05"]),
        ("0 8 * * 5-7", ["01 08:00", "06 08:00", "07 08:00"]),
        ("0 8 * * 6-0", ["01 08:00", "07 08:00", "08 08:00"]),
        ("00 20 1-7 * 5", ["01 20:00", "02 20:00", "03 20:00"]),
        ("55 23 28-31 * *", ["28 23:55", "29 23:55", "30 23:55"]),
        ("\t25 6\t*  * *   ", ["01 06:25", "02 06:25", "03 06:25"]),
    ],
)
def test_the_next_three_of_march(cron: str, expected: list[str]) -> None:
    found = islice(fires(read_rule(cron=cron), MIDNIGHT, inclusive=True), 3)
    assert [f"{fire.utc:%d %H:%M}" for fire in found] == expected


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("14 14 14 2 *", ["2027-02-14 14:14", "2028-02-14 14:14", "2029-02-14 14:14"]),
        ("* * * 2 5", ["2027-02-05 00:00", "2027-02-05 00:01", "2027-02-05 00:02"]),
        ("00 */3 15-25/2 May 1-5", ["2026-05-01 00:00", "2026-05-01 03:00", "2026-05-01 06:00"]),
        ("52 6 1 * *", ["2026-03-01 06:52", "2026-04-01 06:52", "2026-05-01 06:52"]),
    ],
)
def test_the_next_three_further_on(cron: str, expected: list[str]) -> None:
    found = islice(fires(read_rule(cron=cron), MIDNIGHT, inclusive=True), 3)
    assert [f"{fire.utc:%Y-%m-%d %H:%M}" for fire in found] == expected
