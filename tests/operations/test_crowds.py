"""However many jobs there are, the few of another queue or tenant are not lost among them."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from temporalio.client import WorkflowExecutionStatus

from api.jobs.index import Row
from api.jobs.looking import Bounds
from api.queues.census import Counters
from api.queues.strata import Crowd, strata
from api.queues.views import KEYS
from duetime.contracts.instants import parse_instant
from tests.operations.bench import Bench

NOW = parse_instant("2026-11-30T12:00:00Z")
#: A census that reads ten rows at once, once, and looks at eight jobs.
NARROW = Bounds(answers=1, page=10, looked_at=8)


def rows(queue: str, key: str, count: int) -> list[Row]:
    return [
        Row(key, f"{queue}-{key}-{n}", WorkflowExecutionStatus.RUNNING, NOW, NOW, None, "k", queue, key)
        for n in range(count)
    ]


def test_the_few_are_looked_at_whole_and_the_rest_is_shared_out() -> None:
    crowd = [*rows("a", "many", 900), *rows("a", "more", 500), *rows("a", "one", 1), *rows("b", "few", 9)]
    drawn = {stratum.rows[0].fairness_key: stratum for stratum in strata([Crowd(crowd, 2820)], 110)}
    assert {key: len(one.drawn) for key, one in drawn.items()} == {"one": 1, "few": 9, "more": 50, "many": 50}
    assert {key: one.total for key, one in drawn.items()} == {"one": 2, "few": 18, "more": 1000, "many": 1800}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 20), max_size=12), st.integers(0, 60))
def test_no_more_are_looked_at_than_allowed_and_everybody_stands_for_somebody(
    sizes: list[int], most: int
) -> None:
    crowds = [Crowd(rows("q", str(n), size), 2 * size) for n, size in enumerate(sizes)]
    drawn = strata(crowds, most)
    assert sum(len(one.drawn) for one in drawn) == min(most, sum(sizes))
    assert sum(one.total for one in drawn) == 2 * sum(sizes)
    assert all({row.run_id for row in one.drawn} <= {row.run_id for row in one.rows} for one in drawn)


async def test_a_flood_hides_neither_another_queue_nor_another_tenant(bench: Bench) -> None:
    quiet = f"{bench.queue}-quiet"
    forgotten = await bench.submit(queue=quiet, fairness_key="calm")
    for _ in range(30):
        await bench.submit(fairness_key="loud")
    for _ in range(12):
        await bench.submit(fairness_key="loud", delay="1h")
    later = await bench.submit(queue=quiet, delay="1h")
    lone = await bench.submit(fairness_key=f"lone-{bench.queue}")
    await bench.backlog(queued=31, scheduled=12)
    census = await Counters(bench.client, NARROW).take()
    assert not census.is_exact
    queues = {
        name: {place.value: n for place, n in places.items() if n}
        for name, places in census.tally(KEYS["queue"], set()).items()
    }
    assert queues[quiet] == {"queued": 1, "scheduled": 1}, (forgotten, later)
    assert queues[bench.queue] == {"queued": 31, "scheduled": 12}
    due = parse_instant((await bench.job(forgotten))["due_at"])
    assert abs(census.oldest(KEYS["queue"])[quiet] - due) < timedelta(
        seconds=1
    )  # by the API's clock, or the index
    keys = census.tally(KEYS["fairness_key"], set())
    assert sum(keys[f"lone-{bench.queue}"].values()) >= 1, lone
