"""Long lists, whose items are divided among several workflows."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import WorkflowExecutionStatus as Status

from duetime.contracts import limits
from duetime.contracts.pipeline import part_id
from duetime.contracts.pipeline_state import ItemsEnding
from tests.pipelines.support import Log, Pipelines, counts, ended, retried
from tests.support.waiting import eventually
from workflows.children import Children
from workflows.fan_out import FanOutWorkflow
from workflows.fan_out_input import done_of
from workflows.parts import how_many, slots

ITEMS = list(range(60))


def each(items: list[Any] = ITEMS, **fields: Any) -> dict[str, Any]:
    return {"kind": "say", "for_each": items, "payload": {"v": {"$item": ""}}, **fields}


LAST = {"kind": "say", "needs": ["each"], "when": "all_finished", "payload": {"all": {"$result": "each"}}}


@pytest.mark.parametrize(
    ("items", "parallel", "parts"),
    [
        *[(0, 50, 1), (1, 500, 1), (32, 500, 1), (33, 500, 2), (100, 50, 2), (100, 5, 1), (1_000, 50, 5)],
        *[(10_000, 50, 5), (10_000, 19, 1), (10_000, 500, 16), (1_000, 200, 16)],
    ],
)
def test_how_many(items: int, parallel: int, parts: int) -> None:
    assert how_many(items, parallel) == parts


@given(items=st.integers(0, limits.ITEMS), parallel=st.integers(1, limits.PIPELINE_PARALLEL))
def test_all_parts_together_have_as_many_under_way_as_the_job_may(items: int, parallel: int) -> None:
    parts = how_many(items, parallel)
    shares = [slots(parallel, parts, part) for part in range(parts)]
    assert sum(shares) == parallel and min(shares) >= 1
    at_once = [min(share, len(range(part, items, parts))) for part, share in enumerate(shares)]
    assert max(at_once) <= 32, "what they return has room"


def test_what_is_done_of_a_part() -> None:
    done = ItemsEnding(marks="s-ss-", results=["a", None, None, "b", None], size=99)
    assert done_of(done, slice(0, None, 2)).compact() == {
        "marks": "ss-",
        "results": ["a", None, None],
        "size": 11,
    }
    assert done_of(done, slice(1, None, 2)).compact() == {"marks": "-s", "results": [None, "b"], "size": 6}
    too_large = ItemsEnding(marks="s-ss-", size=900_000)
    share = done_of(too_large, slice(1, None, 2))
    assert share.results is None and share.size == 450_002, "both shares add up to what it was"


async def test_a_thousand_items_fifty_at_a_time(pipelines: Pipelines, log: Log) -> None:
    """`benchmarks/fan_out.py` does the same with ten thousand."""
    items = list(range(1000))
    handle = await pipelines.start({"each": each(items, max_parallel=50), "last": LAST})
    assert (await ended(handle)).marks == "ss"
    assert log.seen["last"] == {"all": [{"v": n} for n in items]}
    assert sorted(log.began) == sorted([f"each~{n}" for n in items] + ["last"])
    assert log.most <= 50
    told = await counts(pipelines.handle_of(handle, "each"))
    assert (told.total, told.succeeded, told.running, told.parts) == (1000, 1000, 0, 0)
    own = await pipelines.handle_of(handle, "each").describe()
    assert own.history_length < 100, "the items are in the histories of the parts"


async def test_one_failed_item_is_told_as_of_one_list(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"each~41"}
    handle = await pipelines.start({"each": each(), "last": LAST})
    done = await ended(handle)
    assert (done.status, done.marks) == (Status.FAILED, "fs")
    assert log.seen["last"] == {"all": [{"v": n} if n != 41 else None for n in ITEMS]}
    failed = await pipelines.outcome(handle, "each")
    assert failed.message == "1 of 60 items did not succeed; item 41: Rejected: each~41 is to fail"


async def test_one_failed_item_ends_those_of_other_parts(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"each~0"}
    waiting = each([{"pause": 600} for _ in ITEMS], payload={"$item": ""}, lease="2s")
    handle = await pipelines.start({"each": waiting}, on_failure="stop")
    done = await ended(handle)
    assert done.marks == "f"
    told = await counts(pipelines.handle_of(handle, "each"))
    assert (told.failed, told.cancelled + told.failed, told.running) == (1, 60, 0)


async def test_the_loss_of_a_part_ends_the_others_too(pipelines: Pipelines, log: Log) -> None:
    waiting = each([{"pause": 600} for _ in ITEMS], payload={"$item": ""}, lease="2s")
    handle = await pipelines.start({"each": waiting}, on_failure="stop")
    await eventually(lambda: len(log.began) == 60)
    await pipelines.client.get_workflow_handle(part_id(f"{handle.id}~each", 0)).terminate("by hand")
    assert (await ended(handle)).marks == "f"
    told = await counts(pipelines.handle_of(handle, "each"))
    assert (told.cancelled, told.running) == (60, 0)


def test_a_job_that_is_stopping_does_not_go_on_in_a_fresh_history() -> None:
    """Which would not know that it is, and begin the rest of its items."""

    class Worn(Children):
        def may_start_over(self, running: int) -> bool:
            return True

    job = FanOutWorkflow.__new__(FanOutWorkflow)
    job._children, job._running, job._stopping = Worn(1), {0: None}, False
    assert job._may_start_over()
    job._stopping = True
    assert not job._may_start_over()


async def test_cancelling_ends_all_parts(pipelines: Pipelines, log: Log) -> None:
    handle = await pipelines.start({"each": each(kind="wait", lease="2s")})

    async def all_wait() -> bool:
        return len(log.began) == 60

    await eventually(all_wait)
    await handle.cancel()
    assert (await ended(handle)).marks == "c"
    told = await counts(pipelines.handle_of(handle, "each"))
    assert (told.total, told.cancelled, told.running) == (60, 60, 0)


async def test_a_redrive_repeats_what_failed_in_any_part(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"each~3", "each~58"}
    first = await pipelines.start({"each": each(), "last": LAST})
    assert (await ended(first)).marks == "fs"
    log.failing.clear()
    log.began.clear()
    again = await retried(pipelines.client, first)
    assert (await ended(again)).marks == "ss"
    assert sorted(log.began) == ["each~3", "each~58", "last"]
    assert log.seen["last"] == {"all": [{"v": n} for n in ITEMS]}


async def test_a_terminated_part_loses_nothing(pipelines: Pipelines, log: Log) -> None:
    """Somebody ends a part by hand: the job fails and says so, and its redrive finds what the part had done."""
    log.failing = {"each~1"}
    first = await pipelines.start({"each": each(kind="choosy", lease="2s"), "last": LAST})

    async def all_but_one() -> bool:
        return len(log.ended) == 59

    await eventually(all_but_one)
    await asyncio.gather(*(pipelines.outcome(first, "each", n) for n in range(60) if n != 1))
    await pipelines.client.get_workflow_handle(part_id(f"{first.id}~each", 1)).terminate("by hand")
    assert (await ended(first)).marks == "fs"
    assert "a part of the items was ended" in (await pipelines.outcome(first, "each")).message
    log.failing.clear()
    log.began.clear()
    again = await retried(pipelines.client, first)
    assert (await ended(again)).marks == "ss"
    assert sorted(log.began) == ["each~1", "last"]
    assert log.seen["last"] == {"all": [{"v": n} for n in ITEMS]}
