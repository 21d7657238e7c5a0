"""Durations as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.contracts.duration import LONGEST, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("1w2d", 777_600),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("1m250ms", 60.25),
        ("5m5ms", 300.005),
        ("0s", 0),
        ("PT5M", 300),
        ("PT1.5S", 1.5),
        ("PT1,5S", 1.5),
        ("P1DT2H", 93_600),
        ("P2W", 1_209_600),
        (300, 300),
        (0.25, 0.25),
        (0, 0),
        (timedelta(minutes=2), 120),
        ("36500d", 36_500 * 86_400),
    ],
)
def test_what_is_a_duration(text: str | float | timedelta, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "not a duration"),
        ("90", "not a duration"),
        ("s", "not a duration"),
        ("1h 30m", "not a duration"),
        ("30m1h", "not a duration"),
        ("-5s", "not a duration"),
        ("1e3s", "not a duration"),
        ("٣s", "not a duration"),
        ("1s\n", "not a duration"),
        ("9" * 65 + "s", "not a duration"),
        ("P", "not a duration"),
        ("PT", "not a duration"),
        ("P1DT", "not a duration"),
        ("P1Y", "no fixed length"),
        ("P1M", "no fixed length"),
        ("P1Y2M3DT4H", "no fixed length"),
        (True, "not a duration"),
        (None, "not a duration"),
        ([], "not a duration"),
        (float("nan"), "not a duration"),
        (float("inf"), "not a duration"),
        (-1, "negative"),
        (-0.5, "negative"),
        (timedelta(seconds=-1), "negative"),
        (-(10**400), "negative"),
        ("36501d", "longer than 100 years"),
        (1e12, "longer than 100 years"),
        (10**400, "longer than 100 years"),
        ("9" * 60 + "s", "longer than 100 years"),
    ],
)
def test_what_is_none_says_why_and_how_to_write_it(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        parse_duration(value)  # type: ignore[arg-type]
    assert '"90s"' in str(refused.value)


@given(st.integers(0, LONGEST // timedelta(milliseconds=1)))
def test_what_comes_out_goes_in_again(millis: int) -> None:
    span = timedelta(milliseconds=millis)
    assert parse_duration(format_duration(span)) == span


@pytest.mark.parametrize(
    ("seconds", "text"), [(5400, "1h30m"), (2.5, "2.5s"), (0, "0s"), (60.05, "1m0.05s"), (86_400, "1d")]
)
def test_durations_are_answered_in_the_first_form(seconds: float, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text
