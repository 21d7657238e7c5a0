"""Histories stay below what the server takes, and so do the commands of one workflow task."""

import pytest

from duetime.contracts import limits
from workflows.room import WORN_BYTES, WORN_EVENTS, TaskBudget, is_worn, room_for

#: What the server takes.
HISTORY_BYTES, HISTORY_EVENTS, COMMAND_BYTES = 50 * 1024 * 1024, 51_200, 4 * 1024 * 1024
#: The most that one child adds: payload, result, the record of its attempts, and the results of items.
LARGEST = limits.PAYLOAD_BYTES + limits.RESULT_BYTES + limits.CHECKPOINT_BYTES + 300_000


@pytest.mark.parametrize("largest", [0, 1_000, 100_000, 500_000, LARGEST])
def test_what_is_under_way_still_fits(largest: int) -> None:
    size = events = 0
    while not is_worn(size, events):
        running = room_for(limits.PIPELINE_PARALLEL, 0, size, events, largest)
        assert 1 <= running <= limits.PIPELINE_PARALLEL
        assert size + running * max(largest, 1_000) < HISTORY_BYTES
        size += running * max(largest, 1_000)
        events += running * 12
        assert events < HISTORY_EVENTS
    assert room_for(limits.PIPELINE_PARALLEL, 0, size, events, largest) == 0


def test_no_room_beside_those_under_way() -> None:
    assert room_for(10, 7, 0, 0, 0) == 3
    assert room_for(10, 10, 0, 0, 0) == 0
    assert room_for(10, 12, 0, 0, 0) == 0
    assert room_for(10, 0, WORN_BYTES, 0, 0) == room_for(10, 0, 0, WORN_EVENTS, 0) == 0


def test_a_workflow_task_sends_no_more_than_the_server_takes() -> None:
    budget = TaskBudget()
    sent = 0
    while budget.take(limits.PAYLOAD_BYTES, events=10):
        sent += limits.PAYLOAD_BYTES
    assert limits.PAYLOAD_BYTES < sent < COMMAND_BYTES / 2
    assert budget.take(limits.PAYLOAD_BYTES, events=13), "the next task has a budget of its own"


def test_one_child_may_always_begin() -> None:
    """The largest one is larger than what many may take together."""
    budget = TaskBudget()
    assert budget.take(2 * 1024 * 1024, events=10)
    assert not budget.take(1, events=10)
    assert budget.take(1, events=11)


def test_many_small_children_take_turns() -> None:
    budget = TaskBudget()
    begun = sum(budget.take(10, events=5) for _ in range(500))
    assert 100 <= begun < 500
