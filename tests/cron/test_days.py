"""Days of the month by the table against the calendar on the wall, for every month of twenty-eight years."""

import calendar
from collections.abc import Callable
from datetime import date

import pytest

from duetime.cron import Cron, parse
from duetime.cron.bits import from_bits

MONTHS = [(year, month) for year in range(2026, 2054) for month in range(1, 13)]


def days(text: str, year: int, month: int) -> list[int]:
    line = parse(f"0 0 {text}")
    assert isinstance(line, Cron)
    return list(from_bits(line.days_in(year, month)))


def dates_of(year: int, month: int) -> list[date]:
    return [date(year, month, day) for day in range(1, calendar.monthrange(year, month)[1] + 1)]


def last(year: int, month: int) -> int:
    return dates_of(year, month)[-1].day


def nearest_workday(year: int, month: int, day: int) -> list[int]:
    """By looking: the Monday-to-Friday dates of the month, the nearest to `day`; two are never as near."""
    if day > last(year, month):
        return []
    wanted = date(year, month, day)
    workdays = [on for on in dates_of(year, month) if on.weekday() < 5]
    return [min(workdays, key=lambda on: abs(on - wanted)).day]


Expected = Callable[[int, int], list[int]]

CASES: list[tuple[str, Expected]] = [
    ("L * *", lambda y, m: [last(y, m)]),
    ("L-3 * *", lambda y, m: [last(y, m) - 3]),
    ("L-30 * *", lambda y, m: [1] if last(y, m) == 31 else []),
    ("LW * *", lambda y, m: [max(on.day for on in dates_of(y, m) if on.weekday() < 5)]),
    ("15W * *", lambda y, m: nearest_workday(y, m, 15)),
    ("1W * *", lambda y, m: nearest_workday(y, m, 1)),
    ("28w * *", lambda y, m: nearest_workday(y, m, 28)),
    ("31W * *", lambda y, m: nearest_workday(y, m, 31)),
    ("31 * *", lambda y, m: [31] if last(y, m) == 31 else []),
    ("*/5 * *", lambda y, m: [day for day in (1, 6, 11, 16, 21, 26, 31) if day <= last(y, m)]),
    ("* * FRI#2", lambda y, m: [on.day for on in dates_of(y, m) if on.weekday() == 4][1:2]),
    ("* * 0#5", lambda y, m: [on.day for on in dates_of(y, m) if on.weekday() == 6][4:5]),
    ("* * 5L", lambda y, m: [on.day for on in dates_of(y, m) if on.weekday() == 4][-1:]),
    ("* * sunL", lambda y, m: [on.day for on in dates_of(y, m) if on.weekday() == 6][-1:]),
    # Both restricted: either. One of them begins with a star: both.
    ("13 * 5", lambda y, m: [on.day for on in dates_of(y, m) if on.day == 13 or on.weekday() == 4]),
    ("1-31 * 1", lambda y, m: [on.day for on in dates_of(y, m)]),
    ("*/2 * 1", lambda y, m: [on.day for on in dates_of(y, m) if on.day % 2 and on.weekday() == 0]),
    ("8-14 * */7", lambda y, m: [on.day for on in dates_of(y, m) if 8 <= on.day <= 14 and on.weekday() == 6]),
    ("L * FRI", lambda y, m: [on.day for on in dates_of(y, m) if on.day == last(y, m) or on.weekday() == 4]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_the_days_of_each_month(text: str, expected: Expected) -> None:
    assert [days(text, *month) for month in MONTHS] == [expected(*month) for month in MONTHS]


def test_lists_mix_all_words_of_a_field() -> None:
    # February 2026 begins on a Sunday and has 28 days.
    assert days("1,15W,L-2,LW * *", 2026, 2) == [1, 16, 26, 27]
    assert days("* * MON,FRI#2,SATL", 2026, 2) == [2, 9, 13, 16, 23, 28]


def test_a_saturday_that_is_the_first_moves_on_not_back() -> None:
    assert date(2026, 8, 1).weekday() == 5
    assert days("1W * *", 2026, 8) == [3]


def test_a_sunday_that_is_the_last_moves_back() -> None:
    assert date(2026, 5, 31).weekday() == 6
    assert days("31W * *", 2026, 5) == [29]
