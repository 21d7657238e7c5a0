"""How long to wait before the next attempt."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.backoff import retry_delay
from duetime.contracts.job import Retry

spans = st.timedeltas(timedelta(0), timedelta(days=366))
retries = st.builds(
    Retry,
    initial_interval=spans,
    max_interval=spans,
    backoff=st.floats(1, 100),
    jitter=st.floats(0, 1),
)
failures = st.integers(1, 1_000)
chances = st.floats(0, 1, exclude_max=True)


@given(retries, failures, chances)
def test_the_wait_is_finite_never_negative_and_within_the_bounds(
    retry: Retry, count: int, chance: float
) -> None:
    wait = retry_delay(retry, count, chance)
    assert timedelta(0) <= wait <= retry.max_interval * (1 + retry.jitter) + timedelta(microseconds=1)


@given(retries, failures)
def test_without_jitter_the_wait_only_grows(retry: Retry, count: int) -> None:
    even = retry.model_copy(update={"jitter": 0.0})
    assert retry_delay(even, count, 0.7) <= retry_delay(even, count + 1, 0.3)


@given(retries, failures, chances)
def test_jitter_moves_the_wait_by_no_more_than_its_share(retry: Retry, count: int, chance: float) -> None:
    middle = retry_delay(retry.model_copy(update={"jitter": 0.0}), count, chance)
    moved = retry_delay(retry, count, chance)
    assert abs(moved - middle) <= middle * retry.jitter + timedelta(microseconds=2)


@pytest.mark.parametrize(
    ("count", "seconds"), [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (11, 300), (1000, 300)]
)
def test_the_defaults_double_up_to_five_minutes(count: int, seconds: float) -> None:
    assert retry_delay(Retry(jitter=0), count, 0.5) == timedelta(seconds=seconds)


def test_no_wait_at_all() -> None:
    assert retry_delay(Retry(initial_interval=timedelta(0)), 5, 0.9) == timedelta(0)
    assert retry_delay(Retry(max_interval=timedelta(0)), 5, 0.9) == timedelta(0)
