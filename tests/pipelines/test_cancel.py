"""A pipeline that is cancelled: what runs is stopped, what waits never begins, what cleans up does so."""

from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus as Status
from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError

from duetime import attributes
from duetime.contracts.pipeline_state import Mark
from tests.pipelines.support import Log, Pipelines, counts, ended, faults, progress
from tests.support.waiting import eventually

JOBS: dict[str, dict[str, Any]] = {
    "a": {"kind": "say"},
    "b": {"kind": "wait", "needs": ["a"], "lease": "2s"},
    "c": {"kind": "say", "needs": ["a"]},
    "d": {"kind": "say", "needs": ["b", "c"]},
    "alarm": {"kind": "say", "needs": ["b"], "when": "any_failed"},
    "clean": {"kind": "say", "needs": ["d"], "when": "always"},
}


async def under_way(pipelines: Pipelines, log: Log, **fields: Any) -> WorkflowHandle:
    """A pipeline whose `b` runs, and whose `c` is done."""
    handle = await pipelines.start(JOBS, **fields)
    await eventually(lambda: "b" in log.began)
    await eventually(lambda: is_done(handle, "c"))
    return handle


async def is_done(handle: WorkflowHandle, name: str) -> bool:
    return (await progress(handle)).by_name(list(JOBS))[name] is Mark.SUCCEEDED


async def test_by_the_server_alone(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await handle.cancel(reason="not today")
    done = await ended(handle)
    assert (done.status, done.marks) == (Status.CANCELED, "scshhs")
    assert (done.progress.halt, done.progress.reason) == ("cancelled", "not today")
    assert set(log.began) == {"a", "b", "c", "clean"}
    assert (await pipelines.outcome(handle, "b")).status is Status.CANCELED


async def test_by_an_update_that_says_how(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await handle.execute_update("cancel", {"reason": "enough", "grace": "1s"})
    done = await ended(handle)
    assert (done.status, done.marks, done.type, done.message) == (
        Status.FAILED,
        "scshhs",
        "Cancelled",
        "enough",
    )
    assert (await handle.describe()).typed_search_attributes[attributes.OUTCOME] == "cancelled"


async def test_by_both_which_is_what_the_api_does(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await handle.execute_update("cancel", {"reason": "enough"})
    await handle.cancel()
    done = await ended(handle)
    assert (done.status, done.marks, done.progress.reason) == (Status.CANCELED, "scshhs", "enough")


async def test_by_force_nothing_cleans_up(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await handle.execute_update("cancel", {"mode": "force"})
    done = await ended(handle)
    assert (done.type, done.marks, done.progress.halt) == ("Cancelled", "scshhh", "forced")
    assert "clean" not in log.began


async def test_one_job_cancelled_by_itself_counts_as_failed(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await pipelines.handle_of(handle, "b").cancel()
    done = await ended(handle)
    assert (done.status, done.marks, done.type) == (Status.FAILED, "scsuss", "JobsFailed")
    assert "b cancelled" in done.message


async def test_one_job_terminated(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await pipelines.handle_of(handle, "b").terminate("by hand")
    assert (await ended(handle)).marks == "scsuss"


async def test_before_anybody_serves_the_queue(client: Any, queue: str, orchestration: None) -> None:
    unserved = Pipelines(client, queue, Log())
    handle = await unserved.start({"a": {"kind": "say"}, "b": {"kind": "say", "needs": ["a"]}})
    await eventually(lambda: has_begun(handle))
    await handle.cancel()
    done = await ended(handle)
    assert (done.status, done.marks) == (Status.CANCELED, "ch")


async def has_begun(handle: WorkflowHandle) -> bool:
    return (await progress(handle)).marks.startswith(">")


async def test_items_are_cancelled_too(pipelines: Pipelines, log: Log) -> None:
    jobs = {
        "each": {
            "kind": "wait",
            "lease": "2s",
            "for_each": [1, 2, 3],
            "payload": {"n": {"$item": ""}},
            "max_parallel": 2,
        },
        "next": {"kind": "say", "needs": ["each"]},
    }
    handle = await pipelines.start(jobs)
    await eventually(lambda: len(log.began) == 2)
    await handle.cancel()
    done = await ended(handle)
    assert (done.status, done.marks) == (Status.CANCELED, "ch")
    assert sorted(log.began) == ["each~0", "each~1"]
    told = await counts(pipelines.handle_of(handle, "each"))
    assert (told.total, told.cancelled, told.running) == (3, 2, 0)
    found = (await pipelines.handle_of(handle, "each").describe()).typed_search_attributes
    assert found[attributes.OUTCOME] == "cancelled"


async def test_a_bad_request_changes_nothing(pipelines: Pipelines, log: Log) -> None:
    handle = await pipelines.start({"a": {"kind": "wait"}})
    await eventually(lambda: "a" in log.began)
    for bad in ({"mode": "gently"}, {"grace": "2h"}, {"reson": "x"}, [], None):
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update("cancel", bad)
    assert (await progress(handle)).halt is None
    await handle.terminate()


async def test_what_is_terminated_takes_its_jobs_along(pipelines: Pipelines, log: Log) -> None:
    handle = await under_way(pipelines, log)
    await handle.terminate()
    assert (await pipelines.outcome(handle, "b")).status is Status.CANCELED
    assert (await progress(handle)).marks == "s>s---"
    assert await faults(handle) == {}
