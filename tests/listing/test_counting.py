"""Counts."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import Client

from api.jobs.counting import Counting, by_final_state, scale
from api.jobs.filters import JobFilter
from api.jobs.looking import Bounds
from api.security.caller import ANYBODY
from duetime.contracts.states import State
from duetime.contracts.view import JobCounts
from tests.listing.crowd import Crowd
from tests.listing.lists import get, refusals

tallies = st.dictionaries(st.sampled_from(State), st.integers(1, 2000), min_size=1)


@given(tallies, st.integers(0, 10**9))
def test_an_estimate_adds_up_and_keeps_proportions(tally: dict[State, int], total: int) -> None:
    parts = scale(tally, total)
    assert sum(parts.values()) == total
    seen = sum(tally.values())
    assert all(abs(parts[state] - count * total / seen) <= 1 for state, count in tally.items())


@given(tallies)
def test_what_was_seen_whole_is_not_estimated(tally: dict[State, int]) -> None:
    assert scale(tally, sum(tally.values())) == tally


def test_of_nothing_nothing_is_estimated() -> None:
    assert scale({}, 5) == {}


def test_failed_executions_are_of_three_states() -> None:
    statuses = {"Running": 3, "Failed": 10, "TimedOut": 1, "Canceled": 2, "Terminated": 4, "Completed": 7}
    found = by_final_state(statuses, {State.EXPIRED: 2, State.SKIPPED: 3})
    assert found == {
        State.SUCCEEDED: 7,
        State.CANCELLED: 6,
        State.EXPIRED: 3,
        State.SKIPPED: 3,
        State.FAILED: 5,
    }


@pytest.fixture
async def due(crowd: Crowd, http: httpx2.AsyncClient) -> int:
    """Due jobs that no worker takes, beside some that are scheduled or ended."""
    await crowd.start(40, due_in=timedelta(0), task_queue=crowd.queue)
    scheduled = await crowd.start(6)
    await crowd.end(scheduled[:2])
    await crowd.indexed(running=44, ended=2)
    return 40


async def test_due_jobs_are_told_apart_one_by_one(due: int, http: httpx2.AsyncClient, queue: str) -> None:
    counts = await get(http, "/v1/jobs:count", queue=queue, by="state")
    assert Counter(counts["states"]) == Counter(queued=due, scheduled=4, cancelled=2)
    assert (counts["total"], counts["approximate"]) == (46, False)


@pytest.fixture
def narrow(client: Client) -> Counting:
    """Counts that look at seven jobs at most."""
    return Counting(client, Bounds(looked_at=7))


async def test_beyond_the_bound_the_split_is_an_estimate_and_says_so(
    due: int, narrow: Counting, queue: str
) -> None:
    whole = await narrow.count(JobFilter(queue=queue), by_state=True)
    assert whole.states is not None
    assert Counter(whole.states) == Counter(queued=due, scheduled=4, cancelled=2)
    assert (whole.total, whole.approximate) == (46, True)
    some = JobFilter.model_validate({"queue": queue, "state": ["queued,running"]})
    assert await narrow.count(some, by_state=False) == JobCounts(total=due, approximate=True)
    exact = JobFilter.model_validate({"queue": queue, "state": ["scheduled,cancelled"]})
    assert (await narrow.count(exact, by_state=True)).states == {"scheduled": 4, "cancelled": 2}


async def test_what_a_caller_may_not_see_is_not_looked_at_for_them(
    due: int, narrow: Counting, client: Client, queue: str
) -> None:
    """Many due jobs of others would make an estimate of the few of this caller, and of their states."""
    own = Crowd(client, f"{queue}-own")
    await own.start(3, due_in=timedelta(0), task_queue=own.queue)
    await own.indexed(running=3)
    caller = replace(ANYBODY, queues=frozenset({own.queue}))
    counts = await narrow.seen_by(caller).count(JobFilter(), by_state=True)
    assert (counts.total, counts.approximate) == (3, False)


async def test_counts_can_be_by_state_alone(http: httpx2.AsyncClient) -> None:
    assert "'state'" in (await refusals(http, "/v1/jobs:count", by="kind"))["query by"]
    assert "unknown" in (await refusals(http, "/v1/jobs:count", limit="3"))["query limit"]
