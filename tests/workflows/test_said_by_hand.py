"""Signals, updates and queries that somebody sends by hand, with whatever: none wedges the workflow that gets it."""

import asyncio
import contextlib
from typing import Any

import pytest
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError

from tests.workflows.rubbish import NOTHING, ODD, RUBBISH
from tests.workflows.standing_by import LIVING, definition, is_fine, living

#: Signals that are one whatever is in them, and end the workflow.
ENDS = {("BulkSet", "release"), ("BulkOperation", "stop")}
UPDATES = [(type, name) for type in LIVING for name in definition(type).updates]
#: What is no fault.
TAKEN = {
    ("Job", "run_now"): {"nothing"},
    ("Schedule", "delete"): {*NOTHING, "a number", "a huge number"},
    ("FanOut", "part-failed"): {"nothing"},
}
#: The engine's own bound is ten under way for one workflow.
AT_ONCE = 8


@pytest.mark.parametrize("type", LIVING)
async def test_signals_that_are_none_are_left_aside(type: str, client: Client, orchestration: None) -> None:
    handle = await living(client, type)
    for signal in definition(type).signals:
        if (type, signal) not in ENDS:
            for name, arguments in (RUBBISH | NOTHING).items():
                if name not in TAKEN.get((type, signal), ()):
                    await handle.signal(signal, args=arguments)
    await handle.signal("nobody-knows-this", args=[ODD, ODD])
    await is_fine(handle)
    assert (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
    await handle.terminate()


@pytest.mark.parametrize(("type", "signal"), sorted(ENDS))
async def test_signals_that_are_one_whatever_is_in_them(
    type: str, signal: str, client: Client, orchestration: None
) -> None:
    for arguments in [["x"], [{"nobody": "knows"}], [ODD], [ODD, ODD], [1, 2]]:
        handle = await living(client, type)
        await handle.signal(signal, args=arguments)
        await is_fine(handle)
        with contextlib.suppress(Exception):
            await handle.terminate()


async def refusal(handle: WorkflowHandle[Any, Any], update: str, arguments: list[Any]) -> ApplicationError:
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await handle.execute_update(update, args=arguments)
    assert isinstance(refused.value.cause, ApplicationError)
    return refused.value.cause


@pytest.mark.parametrize(("type", "update"), UPDATES)
async def test_updates_are_refused_readably(
    type: str, update: str, client: Client, orchestration: None
) -> None:
    handle = await living(client, type)
    given = {
        name: arguments
        for name, arguments in (RUBBISH | NOTHING).items()
        if name not in TAKEN.get((type, update), ())
    }
    places = asyncio.Semaphore(AT_ONCE)

    async def refused(arguments: list[Any]) -> ApplicationError:
        async with places:
            return await refusal(handle, update, arguments)

    for name, why in zip(given, await asyncio.gather(*map(refused, given.values())), strict=True):
        assert why.type == "InvalidArgument", name
        assert why.message.startswith(f"the update {update!r}: "), (name, why.message)
        assert len(why.message) < 300 and "RawValue" not in why.message, (name, why.message)
    await is_fine(handle)
    await handle.terminate()


@pytest.mark.parametrize(
    ("type", "update", "arguments", "says"),
    [
        ("Job", "move", [], "takes one argument, as JSON; there is none"),
        ("Job", "move", [{"priority": 1}, ODD], "takes one argument; there are 2"),
        ("Job", "move", [{"priority": 9}], "/priority: must be at most 5"),
        ("Job", "move", [{"run_at": "tomorrow"}], "/run_at: "),
        ("Job", "move", [{"run_at": "0001-01-01T00:00:00+14:00"}], "/run_at: "),
        ("Job", "move", [ODD], "give it as JSON (json/plain), not odd/one"),
        ("Job", "run_now", [{}], "takes no argument; there are 1"),
        ("Pipeline", "cancel", [{"mood": "sad"}], "/mood: unknown field; did you mean `mode`?"),
        ("Schedule", "pause", [{"by": "me"}], "/reason: is required"),
        ("Schedule", "pause", [{"by": "me", "reason": "x" * 100_000}], "bytes of JSON; at most 16,384"),
        ("Schedule", "skip", [{"by": "me", "at": "soon"}], "/at: "),
        ("Schedule", "delete", [1.5], "its argument: "),
    ],
)
async def test_what_a_refusal_says(
    type: str, update: str, arguments: list[Any], says: str, client: Client, orchestration: None
) -> None:
    handle = await living(client, type)
    assert says in (await refusal(handle, update, arguments)).message
    await is_fine(handle)
    await handle.terminate()


@pytest.mark.parametrize(
    ("put", "says"),
    [
        (
            {"id": "of-another-one", "spec": {"cron": "@daily", "job": {"kind": "noop"}}},
            "another workflow id",
        ),
        ({"id": "mine", "spec": {"cron": 5, "job": {"kind": "noop"}}}, "/cron: "),
        ({"id": "mine", "spec": {}}, "the schedule: "),
        ({"id": "mine", "spec": {"text": "x" * 1_900_000}}, "bytes of JSON; at most"),
    ],
)
async def test_no_schedule_is_put_that_is_none(
    put: dict[str, Any], says: str, client: Client, orchestration: None, job_id: str
) -> None:
    handle: WorkflowHandle[Any, Any] = await client.start_workflow(
        "Schedule", id=f"duetime~schedule~{job_id}", task_queue="duetime"
    )
    given = put | ({"id": job_id} if put["id"] == "mine" else {})
    assert says in (await refusal(handle, "put", [given])).message
    await is_fine(handle)
    await handle.terminate()


async def test_queries_fail_alone(client: Client, orchestration: None) -> None:
    handle = await living(client, "ConcurrencyLimit")
    for arguments in RUBBISH.values():
        with contextlib.suppress(WorkflowQueryFailedError):
            assert await handle.query("line", args=arguments)
    await is_fine(handle)
    assert (await handle.query("line"))["held"] == 0
    await handle.terminate()
