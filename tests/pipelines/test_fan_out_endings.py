"""What a job with items takes in as the end of an item or a part, and what is none."""

import gc
import uuid
import warnings
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from duetime.contracts.pipeline_state import ItemsEnding, Mark
from tests.support.waiting import eventually
from tests.workflows.standing_by import LIVING, is_fine
from workflows.children import Ended
from workflows.fan_out import FanOutWorkflow
from workflows.fan_out_input import FanOutInput
from workflows.worker import orchestrator


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


async def is_there(handle: WorkflowHandle[Any, Any]) -> bool:
    try:
        return bool(await handle.describe())
    except RPCError:
        return False


async def test_a_worker_that_puts_it_aside_ends_none_of_its_items(client: Client) -> None:
    """Its tasks are cancelled then, and nothing new can begin."""
    queue = f"put-aside-{uuid.uuid4().hex[:8]}"
    part = LIVING["FanOut"][0] | {"stop": True, "slice": {"of": f"{queue}-whole", "start": 0, "step": 1}}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        async with orchestrator(client, task_queue=queue):
            handle: WorkflowHandle[Any, Any] = await client.start_workflow(
                "FanOut", part, id=queue, task_queue=queue
            )
            child = client.get_workflow_handle(f"{queue}-whole~0")
            await eventually(lambda: is_there(child))
            await is_fine(handle)
        gc.collect()
    await handle.terminate()
    await child.terminate()
    assert [str(one.message) for one in seen if "never awaited" in str(one.message)] == []
