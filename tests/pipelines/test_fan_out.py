"""Jobs that run once for each item of a list."""

from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus as Status

from duetime import attributes
from tests.pipelines.support import Log, Pipelines, counts, ended, faults
from workflows import room


def each(over: Any, **fields: Any) -> dict[str, Any]:
    job = {"kind": "say", "for_each": over, "payload": {"v": {"$item": ""}}, **fields}
    return job | ({"needs": ["list"]} if isinstance(over, dict) else {})


def giving(value: Any) -> dict[str, Any]:
    return {"kind": "give", "payload": {"value": value}}


async def test_results_come_back_in_the_order_of_the_list(pipelines: Pipelines, log: Log) -> None:
    items = [{"n": n, "pause": 0.2 if n == 0 else 0} for n in range(6)]
    jobs = {
        "list": giving({"files": items}),
        "each": each({"$result": "list.files"}, payload={"$item": ""}, max_parallel=3),
        "sum": {
            "kind": "say",
            "needs": ["each"],
            "payload": {"all": {"$result": "each"}, "one": {"$result": "each.4.n"}},
        },
    }
    handle = await pipelines.start(jobs)
    assert (await ended(handle)).marks == "sss"
    assert log.seen["sum"] == {"all": items, "one": 4}
    assert log.most <= 3
    assert sorted(log.began) == ["each~0", "each~1", "each~2", "each~3", "each~4", "each~5", "list", "sum"]
    told = await counts(pipelines.handle_of(handle, "each"))
    assert (told.total, told.succeeded, told.running, told.failed) == (6, 6, 0, 0)
    item = await pipelines.handle_of(handle, "each", 5).describe()
    assert item.typed_search_attributes[attributes.PIPELINE_ID] == handle.id
    assert item.root_id == handle.id and item.parent_id == f"{handle.id}~each"
    assert await item.static_summary() == "5: say"
    assert (
        await (await pipelines.handle_of(handle, "each").describe()).static_summary() == "each: say, 6 items"
    )


async def test_items_and_results_go_into_the_payload(pipelines: Pipelines, log: Log) -> None:
    """What they hold is data, also where it looks like a reference."""
    payload = {"r": {"$result": "list.x"}, "n": {"$item": "name"}}
    jobs = {"list": {"kind": "mirror"}, "each": each([{"name": 1}], needs=["list"], payload=payload)}
    done = await pipelines.run(jobs)
    assert done.marks == "ss"
    assert log.seen["each~0"] == {"r": {"$result": "secret.pin"}, "n": 1}


async def test_an_empty_list_is_done_at_once(pipelines: Pipelines, log: Log) -> None:
    after = {"kind": "say", "needs": ["each"], "payload": {"all": {"$result": "each"}}}
    done = await pipelines.run({"list": giving([]), "each": each({"$result": "list"}), "after": after})
    assert done.marks == "sss"
    assert log.seen["after"] == {"all": []}


async def test_parts_of_items(pipelines: Pipelines, log: Log) -> None:
    items = [{"name": "a", "tags": ["p", "q"]}, {"name": "b", "tags": ["r"]}]
    payload = {"name": {"$item": "name"}, "tag": [{"$item": "tags.1"}]}
    handle = await pipelines.start(
        {"each": each(items, payload=payload), "next": {"kind": "say", "needs": ["each"]}}
    )
    done = await ended(handle)
    assert (done.marks, done.message) == (
        "fu",
        "1 of 2 jobs did not succeed: each failed; 1 skipped for that",
    )
    assert log.seen == {"each~0": {"name": "a", "tag": ["q"]}}
    failed = await pipelines.outcome(handle, "each")
    assert failed.type == "ItemsFailed"
    assert "1 of 2 items did not succeed; item 1: InvalidReference" in failed.message
    assert "'tags' in the item is a list of 1 and has no item '1'" in failed.message


async def test_one_failed_item_leaves_the_others(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"each~1"}
    report = {
        "kind": "say",
        "needs": ["each"],
        "when": "all_finished",
        "payload": {"all": {"$result": "each"}},
    }
    handle = await pipelines.start({"each": each([1, 2, 3]), "report": report})
    done = await ended(handle)
    assert (done.status, done.marks) == (Status.FAILED, "fs")
    assert log.seen["report"] == {"all": [{"v": 1}, None, {"v": 3}]}


async def test_one_failed_item_ends_the_others_when_the_pipeline_says_so(
    pipelines: Pipelines, log: Log
) -> None:
    log.failing = {"each~0"}
    handle = await pipelines.start({"each": each([1, 2, 3, 4], max_parallel=1)}, on_failure="stop")
    done = await ended(handle)
    assert done.marks == "f"
    assert log.began == ["each~0"]


NO_LISTS: list[tuple[Any, str]] = [
    ({"a": 1}, "came to an object; it must be a list"),
    (None, "came to null; it must be a list"),
    ([0] * 10_001, "has 10,001 items; at most 10,000"),
]


async def test_what_is_no_list_says_so(pipelines: Pipelines) -> None:
    jobs: dict[str, dict[str, Any]] = {}
    for index, (value, _) in enumerate(NO_LISTS):
        jobs |= {f"list{index}": giving(value), f"each{index}": each({"$result": f"list{index}"})}
        jobs[f"each{index}"]["needs"] = [f"list{index}"]
    handle = await pipelines.start(jobs)
    assert (await ended(handle)).marks == "sf" * len(NO_LISTS)
    told = await faults(handle)
    for index, (_, said) in enumerate(NO_LISTS):
        assert said in told[f"each{index}"]["message"]


async def test_results_too_large_together_fail_what_refers_to_them_alone(
    pipelines: Pipelines, log: Log
) -> None:
    items = [{"text": "x" * 10, "times": 20_000}] * 4
    jobs = {
        "each": {"kind": "long", "for_each": items, "payload": {"$item": ""}},
        "all": {"kind": "say", "needs": ["each"], "payload": {"all": {"$result": "each"}}},
        "after": {"kind": "say", "needs": ["each"]},
    }
    handle = await pipelines.start(jobs)
    done = await ended(handle)
    assert done.marks == "sfs"
    told = (await faults(handle))["all"]
    assert told["type"] == "InvalidReference" and "at most 786,432 can be referred to" in told["message"]
    assert len((await pipelines.outcome(handle, "each", 3)).result) == 200_000


async def test_results_that_no_payload_can_hold_fail_the_job_that_gives_them_to_its_items(
    pipelines: Pipelines, log: Log
) -> None:
    """As one error at the job: handed on to its workflow they would break that."""
    large = {"kind": "long", "payload": {"text": "x" * 10, "times": 20_000}}
    payload = {"a": {"$result": "a"}, "b": {"$result": "b"}, "n": {"$item": ""}}
    jobs = {"a": large, "b": large, "each": each([1, 2], needs=["a", "b"], payload=payload)}
    handle = await pipelines.start(jobs)
    assert (await ended(handle)).marks == "ssf"
    told = (await faults(handle))["each"]
    assert told["type"] == "InvalidPayload" and "at most 262,144" in told["message"]
    assert log.began == []


async def test_a_long_history_is_renewed_between_items(
    pipelines: Pipelines, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, done twice or out of order when the workflow begins a new history again and again."""
    monkeypatch.setattr(room, "WORN_EVENTS", 40)
    log.failing = {"each~7"}
    jobs = {
        "each": each(list(range(20)), max_parallel=4),
        "report": {
            "kind": "say",
            "needs": ["each"],
            "when": "always",
            "payload": {"all": {"$result": "each"}},
        },
        **{f"c{i}": {"kind": "say", "needs": [f"c{i - 1}"] if i else []} for i in range(6)},
        "end": {
            "kind": "say",
            "needs": ["c5"],
            "payload": {"first": {"$result": "c0"}, "each": {"$result": "each.3"}},
        },
    }
    jobs["c0"] = {"kind": "say", "payload": {"x": 1}}
    jobs["end"]["needs"] = ["c5", "each"]
    jobs["end"]["when"] = "all_finished"
    handle = await pipelines.start(jobs)
    done = await ended(handle)
    assert done.marks == "fsssssss" + "s"
    expected = [{"v": n} if n != 7 else None for n in range(20)]
    assert log.seen["report"] == {"all": expected}
    assert log.seen["end"] == {"first": {"x": 1}, "each": {"v": 3}}
    assert sorted(log.began) == sorted(
        [*(f"each~{i}" for i in range(20)), "report", *(f"c{i}" for i in range(6)), "end"]
    )
    for each_id in (handle.id, f"{handle.id}~each"):
        first = await pipelines.client.get_workflow_handle(each_id).describe()
        run = (
            await pipelines.client.get_workflow_handle(each_id, run_id=first.run_id).fetch_history()
        ).events[0]
        assert run.workflow_execution_started_event_attributes.continued_execution_run_id, "it was renewed"
