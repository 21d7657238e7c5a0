"""What a job with items takes in as the end of an item or a part, and what is none."""

import asyncio
import contextlib
import gc
import logging
import warnings
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
from temporalio.common import TypedSearchAttributes

from duetime.contracts.pipeline_state import ItemsEnding, Mark
from tests.workflows.standing_by import LIVING
from workflows import fan_out
from workflows.children import Children, Ended, Planned
from workflows.fan_out import FanOutWorkflow
from workflows.fan_out_input import FanOutInput, Slice


def in_two_parts(items: list[Any]) -> FanOutWorkflow:
    job = FanOutWorkflow.__new__(FanOutWorkflow)
    job._given = FanOutInput.model_validate(LIVING["FanOut"][0] | {"items": items, "parts": 2})
    job._marks, job._results, job._size = [Mark.WAITING] * len(items), [None] * len(items), 2
    job._lost, job._stopping, job._first_error = False, False, None
    return job


@pytest.mark.parametrize("left", [{}, {"marks": "s"}, {"marks": "??"}, {"counts": 5}])
def test_a_lost_part_makes_the_results_no_smaller(left: dict[str, Any]) -> None:
    job = in_two_parts([1, 2, 3, 4])
    job._take_in(slice(0, None, 2), Ended(Mark.CANCELLED, left))
    assert (job._size, job._results, job._lost) == (2, [None] * 4, True)
    told = ItemsEnding(marks="ss", results=["a", "b"], size=10)
    job._take_in(slice(1, None, 2), Ended(Mark.SUCCEEDED, told.compact()))
    assert (job._size, job._results) == (10, [None, "a", None, "b"])
    assert job._marks == [Mark.CANCELLED, Mark.SUCCEEDED, Mark.CANCELLED, Mark.SUCCEEDED]


class Endless(Children):
    async def run(self, planned: Planned) -> Ended:
        await asyncio.sleep(3600)
        raise AssertionError


@pytest.mark.parametrize("what", ["item", "part"])
async def test_nothing_has_ended_that_a_worker_only_puts_aside(what: str) -> None:
    """Then what the workflow waits for is cancelled or closed, where nothing new can begin, nor be told to anybody."""
    job = in_two_parts([1, 2])
    job._given = job._given.model_copy(update={"stop": True, "slice": Slice(of="nobody", start=0, step=1)})
    job._children, job._running, job._look_up, job._first_index, job._step = (
        Endless(1),
        {0: None},
        False,
        0,
        1,
    )
    part = Planned("FanOut", "part", [], TypedSearchAttributes.empty, 3, "", 0)
    job._parts = {part.id: None}
    job._plan = lambda index: part  # type: ignore[method-assign]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for end in (Coroutine.close, lambda waiting: waiting.throw(asyncio.CancelledError)):
            waiting = job._run_item(0) if what == "item" else job._run_part(0, part)
            waiting.send(None)
            with contextlib.suppress(asyncio.CancelledError):
                end(waiting)
            del waiting
            gc.collect()
    assert job._marks == [Mark.WAITING] * 2 and (job._running, job._parts) == ({0: None}, {"part": None})
    assert not job._stopping


async def test_a_fault_that_nobody_foresaw_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Children):
        async def run(self, planned: Planned) -> Ended:
            raise KeyError("x")

    monkeypatch.setattr(fan_out.workflow, "logger", logging.getLogger("test"))
    job = in_two_parts([1, 2])
    job._children, job._running, job._look_up, job._first_index, job._step = Broken(1), {0: None}, False, 0, 1
    job._counted, job._plan = Counter(), lambda index: None  # type: ignore
    await job._run_item(0)
    assert (job._marks, job._running, job._first_error) == (
        [Mark.FAILED, Mark.WAITING],
        {},
        "item 0: KeyError: 'x'",
    )
