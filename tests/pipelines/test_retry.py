"""A retry runs again what failed and what hangs on it; what succeeded keeps its result."""

from typing import Any

import pytest
from temporalio.client import WorkflowHandle

from tests.pipelines.support import Log, Pipelines, counts, ended, progress, retried
from tests.support.waiting import eventually
from workflows.pipeline_input import PipelineCarry


async def test_only_what_failed_runs_again(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"b"}
    jobs: dict[str, dict[str, Any]] = {
        "a": {"kind": "give", "payload": {"value": {"rows": [1, 2]}}},
        "b": {"kind": "say", "needs": ["a"], "payload": {"rows": {"$result": "a.rows"}}},
        "c": {"kind": "say", "needs": ["a"]},
        "d": {
            "kind": "say",
            "needs": ["b", "c"],
            "payload": {"n": {"$result": "a.rows.1"}, "b": {"$result": "b"}},
        },
        "alarm": {"kind": "say", "needs": ["d"], "when": "any_failed"},
    }
    first = await pipelines.start(jobs)
    done = await ended(first)
    assert done.marks == "sfsus"
    key, token = log.jobs["b"].idempotency_key, log.jobs["b"].fencing_token
    log.began.clear()
    second = await retried(pipelines.client, first)
    assert (await ended(second)).marks == "sfsus"
    assert sorted(log.began) == ["alarm", "b"], "an alarm rings again for a failure that came again"
    log.began.clear()
    log.failing.clear()
    done = await ended(await retried(pipelines.client, second))
    assert done.marks == "ssssn"
    assert log.began == ["b", "d"]
    assert log.seen["b"] == {"rows": [1, 2]} and log.seen["d"] == {"n": 2, "b": {"rows": [1, 2]}}
    assert log.jobs["b"].idempotency_key == key
    assert log.jobs["b"].fencing_token > token


async def test_a_cancelled_pipeline_goes_on(pipelines: Pipelines, log: Log) -> None:
    first = await pipelines.start({"a": {"kind": "say"}, "b": {"kind": "say", "needs": ["a"], "delay": "1h"}})
    await eventually(lambda: is_so(first, "s>"))
    await first.cancel()
    assert (await ended(first)).marks == "sc"
    second = await retried(pipelines.client, first)
    await eventually(lambda: is_so(second, "s>"))
    await second.cancel()
    assert (await ended(second)).marks == "sc"
    assert log.began == ["a"]


async def is_so(handle: WorkflowHandle, marks: str) -> bool:
    return (await progress(handle)).marks == marks


async def test_a_terminated_pipeline_waits_for_its_old_jobs_to_end(pipelines: Pipelines, log: Log) -> None:
    first = await pipelines.start(
        {"a": {"kind": "say"}, "b": {"kind": "wait", "needs": ["a"], "lease": "2s"}}
    )
    await eventually(lambda: "b" in log.began)
    await first.terminate()
    second = await retried(pipelines.client, first)
    await eventually(lambda: log.began.count("b") == 2)
    assert log.ended.count("b") == 1, "the earlier attempt ended before the new one began"
    await second.cancel()
    assert (await ended(second)).marks == "sc"


async def test_what_succeeds_while_its_pipeline_is_terminated_is_kept(pipelines: Pipelines, log: Log) -> None:
    jobs: dict[str, dict[str, Any]] = {
        "a": {"kind": "stubborn", "lease": "2s"},
        "b": {"kind": "say", "needs": ["a"], "payload": {"x": {"$result": "a"}}},
    }
    first = await pipelines.start(jobs)
    await eventually(lambda: log.began == ["a"])
    await first.terminate()
    assert (await pipelines.outcome(first, "a")).result == "done"
    second = await retried(pipelines.client, first)
    assert (await ended(second)).marks == "ss"
    assert log.began == ["a", "b"] and log.seen["b"] == {"x": "done"}


async def test_items_that_are_done_do_not_run_again(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"each~1", "each~3"}
    jobs = {
        "list": {"kind": "give", "payload": {"value": ["v", "w", "x", "y", "z"]}},
        "each": {
            "kind": "say",
            "needs": ["list"],
            "for_each": {"$result": "list"},
            "payload": {"v": {"$item": ""}},
        },
        "sum": {"kind": "say", "needs": ["each"], "payload": {"all": {"$result": "each"}}},
        "report": {
            "kind": "say",
            "needs": ["each"],
            "when": "always",
            "payload": {"all": {"$result": "each"}},
        },
    }
    first = await pipelines.start(jobs)
    done = await ended(first)
    assert done.marks == "sfus"
    partial = [{"v": "v"}, None, {"v": "x"}, None, {"v": "z"}]
    assert log.seen["report"] == {"all": partial}
    log.began.clear()
    log.failing.clear()
    done = await ended(await retried(pipelines.client, first))
    assert done.marks == "ssss"
    assert sorted(log.began) == ["each~1", "each~3", "report", "sum"]
    assert log.seen["sum"] == {"all": [{"v": letter} for letter in "vwxyz"]}
    told = await counts(pipelines.handle_of(first, "each"))
    assert (told.succeeded, told.failed) == (5, 0)


async def test_items_that_are_done_are_found_when_nobody_took_that_down(
    pipelines: Pipelines, log: Log
) -> None:
    """Pipeline and list were terminated, as by force, and the items with them."""
    jobs: dict[str, dict[str, Any]] = {
        "each": {"kind": "choosy", "for_each": [1, 2, 3, 4], "payload": {"v": {"$item": ""}}},
        "all": {"kind": "say", "needs": ["each"], "payload": {"all": {"$result": "each"}}},
    }
    log.failing = {"each~2"}  # which waits for ever
    first = await pipelines.start(jobs)
    items = pipelines.handle_of(first, "each")
    await eventually(lambda: len(log.began) == 4)
    await eventually(lambda: succeeded(items, 3))
    await first.terminate()
    await items.terminate()
    log.began.clear()
    log.failing.clear()
    assert (await ended(await retried(pipelines.client, first))).marks == "ss"
    assert log.began == ["each~2", "all"]
    assert log.seen["all"] == {"all": [{"v": n} for n in (1, 2, 3, 4)]}


async def succeeded(items: WorkflowHandle, count: int) -> bool:
    return (await counts(items)).succeeded == count


async def test_another_list_begins_anew(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"each~1"}
    jobs: dict[str, dict[str, Any]] = {
        "each": {"kind": "say", "for_each": [1, 2], "payload": {"v": {"$item": ""}}},
    }
    first = await pipelines.start(jobs)
    assert (await ended(first)).marks == "f"
    log.began.clear()
    log.failing.clear()
    changed = {"jobs": {"each": {**jobs["each"], "queue": pipelines.queue, "for_each": [1, 3]}}}
    carry = PipelineCarry(marks="-", retried=True)
    again = await pipelines.start_raw(changed, carry.compact(), id=first.id)
    assert (await ended(again)).marks == "s"
    assert sorted(log.began) == ["each~0", "each~1"]


@pytest.mark.parametrize("marks", ["", "s", "sf-"])
def test_a_carry_is_plain_json(marks: str) -> None:
    carry = PipelineCarry(marks=marks, retried=True)
    assert PipelineCarry.model_validate(carry.compact()) == carry
