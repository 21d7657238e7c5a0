"""`Retry-After` against RFC 9110, sections 5.6.7 and 10.2.3."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis.strategies import lists, text

from duetime.retry_after import retry_after

NOW = datetime(2026, 10, 21, 7, 27, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0120", 120),
        (" 5 ", 5),
        ("\t5", 5),
        ("86400", 86_400),
        ("86401", 86_400),
        ("999999999", 86_400),
        ("9" * 18, 86_400),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 60),
        ("Wednesday, 21-Oct-26 07:28:00 GMT", 60),
        ("Wed Oct 21 07:28:00 2026", 60),
        ("Wed, 21 Oct 2026 07:28:60 GMT", 119),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
    ],
)
def test_what_is_valid_is_honoured_up_to_a_day(value: str, seconds: int) -> None:
    assert retry_after([value], NOW, DAY) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0",
        "-5",
        "+5",
        "5.5",
        "1e3",
        "0x10",
        "1_0",
        "١٢",
        "５",
        "5 s",
        "5, 6",
        "soon",
        "9" * 19,
        "9" * 5000,
        "Wed, 21 Oct 2026 07:26:00 GMT",
        "Wednesday, 21-Oct-77 07:28:00 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Wed, 21 Oct 2026 07:28:00 +0000",
        "Wed, 21 Oct 2026 07:28:00",
        "Wed, 21 Oct 2026 09:28:00 CEST",
        "wed, 21 oct 2026 07:28:00 gmt",
        "Wed, 32 Oct 2026 07:28:00 GMT",
        "Wed, 21 Oct 2026 25:28:00 GMT",
        "Wed, 21 Oct 0000 07:28:00 GMT",
        "2026-10-21T07:28:00Z",
    ],
)
def test_what_is_not_valid_or_over_is_ignored(value: str) -> None:
    assert retry_after([value], NOW, DAY) is None


def test_it_is_one_line_or_none() -> None:
    assert retry_after([], NOW, DAY) is None
    assert retry_after(["120", "120"], NOW, DAY) is None


def test_a_day_in_asctime_may_have_one_digit() -> None:
    now = datetime(1994, 11, 6, 8, 49, 0, tzinfo=UTC)
    assert retry_after(["Sun Nov  6 08:49:37 1994"], now, DAY) == timedelta(seconds=37)


@given(lists(text(), max_size=2))
def test_nothing_breaks_it(lines: list[str]) -> None:
    wait = retry_after(lines, NOW, DAY)
    assert wait is None or timedelta(0) < wait <= DAY
