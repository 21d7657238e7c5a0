"""Histories stay below what the server takes, and so do the commands of one workflow task."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.contracts import limits
from duetime.contracts.json_value import check_json
from duetime.contracts.pipeline_state import ItemsEnding
from duetime.contracts.record import Attempt, Ending, Error, Progress, cut, fitting, shorten
from duetime.contracts.states import AttemptOutcome
from tests.pipelines.support import Log, Pipelines, ended
from workflows import room
from workflows.room import (
    ITEMS_RETURN,
    JOB_RETURNS,
    MOST_BYTES,
    WORN_BYTES,
    TaskBudget,
    fits,
    is_worn,
    room_for,
)

#: What the server takes.
HISTORY_BYTES, HISTORY_EVENTS, COMMAND_BYTES = 50 * 1024 * 1024, 51_200, 4 * 1024 * 1024
KIB = 1024


@given(
    children=st.lists(
        st.tuples(
            st.integers(0, 2_000 * KIB),
            st.sampled_from([JOB_RETURNS, ITEMS_RETURN]),
            st.floats(0, 1),
            st.integers(1, 80),
        ),
        max_size=400,
    )
)
def test_no_history_breaks_and_nobody_waits_for_ever(children: list[tuple[int, int, float, int]]) -> None:
    """Each child is given something, and returns some part of what it may when so many others have begun after it."""
    size = events = reserved = 0
    under_way: list[tuple[int, int, int]] = []

    def come_back(begun: int) -> None:
        nonlocal size, events, reserved
        for child in [child for child in under_way if child[2] <= begun]:
            under_way.remove(child)
            size, events, reserved = size + child[1], events + 5, reserved - child[0]

    for begun, (told, returns, part, after) in enumerate(children):
        come_back(begun)
        while not fits(size, is_worn(size, events), reserved, told, returns):
            if not under_way:
                assert is_worn(size, events), "else it would wait for ever"
                size = events = reserved = 0
            elif is_worn(size, events) or size + reserved + told + returns > MOST_BYTES:
                come_back(min(child[2] for child in under_way))
        size, reserved = size + told, reserved + returns
        under_way.append((returns, int(returns * part), begun + after))
        assert size + reserved < HISTORY_BYTES and events < HISTORY_EVENTS


def test_what_never_goes_on_in_a_fresh_history_does_not_wait_for_one() -> None:
    """A job whose items are in parts: a part that has still to begin does, however long the history has become."""
    assert not fits(WORN_BYTES, True, 0, 1, 1)
    assert fits(WORN_BYTES, False, 0, 1, 1)
    assert not fits(WORN_BYTES, False, MOST_BYTES - WORN_BYTES, 1, 1), "but not beside what would be too much"


@pytest.mark.parametrize("letter", ["x", "é", "😀", "\x00"])
@pytest.mark.parametrize("count", [1, 12, limits.MAX_ATTEMPTS])
def test_what_is_set_aside_for_a_job_is_the_most_that_comes_back_of_it(count: int, letter: str) -> None:
    error = Error(
        type=cut(letter * 1000, limits.ERROR_TYPE_LENGTH),
        message=cut(letter * 10_000, limits.ERROR_MESSAGE_LENGTH),
        stack=cut(letter * 10_000, limits.ERROR_STACK_LENGTH),
    )
    instant = "2026-11-30T12:00:00.123456Z"
    attempts = [
        Attempt.model_validate(
            {
                "number": n + 1,
                "fencing_token": 1_796_039_255_192_218 + n,
                "worker": "1234567@a-host-name-of-some-length.example.org:default",
                "started_at": instant,
                "finished_at": instant,
                "dispatch": str(n),
                "outcome": AttemptOutcome.FAILED,
                "error": error,
            }
        )
        for n in range(count)
    ]
    kept = fitting(shorten(attempts), limits.PIPELINE_ATTEMPTS_BYTES)
    ending = Ending(
        result="x" * (limits.RESULT_BYTES - 2),
        checkpoint="x" * (limits.CHECKPOINT_BYTES - 2),
        progress=Progress(done=1, total=2, message=letter * limits.PROGRESS_MESSAGE_LENGTH),
        attempts=kept,
    )
    assert check_json(ending.compact(), limits.PIPELINE_BYTES) < JOB_RETURNS
    assert kept[-1].number == count, "the newest is always told"
    assert kept[-1].error == error


def test_attempts_that_have_room_are_all_told_as_they_are() -> None:
    failed = Error(type="E", message="no", stack="x" * limits.ERROR_STACK_LENGTH)
    attempts = [Attempt(number=n + 1, outcome=AttemptOutcome.FAILED, error=failed) for n in range(7)]
    assert fitting(attempts, limits.PIPELINE_ATTEMPTS_BYTES) == attempts
    few = fitting(attempts, 20_000)
    assert [attempt.number for attempt in few] == [1, 2, 3, 4, 5, 6, 7]
    assert [bool(attempt.error and attempt.error.stack) for attempt in few] == [False] * 6 + [True]
    assert [attempt.number for attempt in fitting(attempts, 400)] == [3, 4, 5, 6, 7]


def test_what_is_set_aside_for_items_is_the_most_that_comes_back_of_them() -> None:
    marks = "s" * limits.ITEMS
    ending = ItemsEnding(results=["x" * (limits.ITEM_RESULTS_BYTES - 4)], marks=marks, digest="d" * 32)
    assert check_json(ending.compact(), limits.PIPELINE_BYTES) < ITEMS_RETURN


def test_many_may_be_under_way() -> None:
    """In a fresh history, and in one that is about to be renewed."""
    each = JOB_RETURNS + 8 * KIB
    assert MOST_BYTES // each >= 98 and (MOST_BYTES - room.WORN_BYTES) // each >= 64


async def test_large_payloads_and_results_together_break_no_history(
    pipelines: Pipelines, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bounds of a fifteenth, twenty-four jobs that are all given, and return, what only a few can at once."""
    most = 3_000_000
    monkeypatch.setattr(room, "MOST_BYTES", most)
    monkeypatch.setattr(room, "WORN_BYTES", most // 3)
    big = {"kind": "long", "payload": {"text": "x" * 10, "times": 10_000}}
    names = [f"n{index}" for index in range(24)]
    jobs: dict[str, dict[str, Any]] = {"first": big}
    for name in names:
        jobs[name] = {"kind": "say", "needs": ["first"], "payload": {"v": {"$result": "first"}}}
    jobs["each"] = {"kind": "say", "needs": ["first"], "for_each": [1, 2], "payload": {"v": {"$item": ""}}}
    jobs["end"] = {"kind": "say", "needs": [*names, "each"], "payload": {"v": {"$result": "n7.v"}}}
    handle = await pipelines.start(jobs)
    done = await ended(handle)
    assert done.marks == "s" * len(jobs)
    assert sorted(log.began) == sorted([*names, "each~0", "each~1", "end"])
    assert log.seen["end"] == {"v": "x" * 100_000}
    sizes = []
    async for run in pipelines.client.list_workflows(f"WorkflowId = '{handle.id}'"):
        described = await pipelines.client.get_workflow_handle(handle.id, run_id=run.run_id).describe()
        sizes.append(described.raw_description.workflow_execution_info.history_size_bytes)
    assert len(sizes) > 2, "it was renewed"
    assert max(sizes) < most


@pytest.mark.parametrize("largest", [0, 1_000, 100_000, 500_000])
def test_so_many_are_planned(largest: int) -> None:
    assert 1 <= room_for(limits.PIPELINE_PARALLEL, 0, 0, 0, largest) <= limits.PIPELINE_PARALLEL


def test_no_room_beside_those_under_way() -> None:
    assert room_for(10, 7, 0, 0, 0) == 3
    assert room_for(10, 10, 0, 0, 0) == 0
    assert room_for(10, 12, 0, 0, 0) == 0
    assert room_for(10, 0, room.WORN_BYTES, 0, 0) == room_for(10, 0, 0, room.WORN_EVENTS, 0) == 0


def test_a_workflow_task_sends_no_more_than_the_server_takes() -> None:
    budget = TaskBudget()
    sent = 0
    while budget.take(limits.PAYLOAD_BYTES, events=10):
        sent += limits.PAYLOAD_BYTES
    assert limits.PAYLOAD_BYTES < sent == budget.taken < COMMAND_BYTES / 2
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
