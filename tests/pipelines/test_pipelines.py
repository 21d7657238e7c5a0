"""Pipelines from their start to their end, on a real server: what runs, in which order, with what, and what is told."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus as Status
from temporalio.common import SearchAttributePair, TypedSearchAttributes

from duetime import attributes
from tests.pipelines.support import Log, Pipelines, ended, faults
from tests.support.jobs import NO_WAIT, pending
from tests.support.waiting import eventually
from workflows import children


def say(*needs: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "say", "needs": list(needs), **fields}


async def test_a_diamond_runs_each_job_once_after_those_it_needs(pipelines: Pipelines, log: Log) -> None:
    done = await pipelines.run({"d": say("b", "c"), "b": say("a"), "c": say("a"), "a": say()})
    assert (done.status, done.marks) == (Status.COMPLETED, "ssss")
    assert done.jobs == dict.fromkeys(["d", "b", "c", "a"], "succeeded")
    assert sorted(log.began) == ["a", "b", "c", "d"]
    assert log.began[0] == "a" and log.began[-1] == "d"


async def test_a_chain_and_a_fan(pipelines: Pipelines, log: Log) -> None:
    chain = {f"c{i}": say(*([f"c{i - 1}"] if i else [])) for i in range(8)}
    wide = {f"w{i}": say("c0") for i in range(12)}
    done = await pipelines.run(chain | wide | {"end": say(*wide, "c7")})
    assert set(done.marks) == {"s"}
    assert [name for name in log.began if name in chain] == list(chain)
    assert log.began[-1] == "end" and len(log.began) == 21


async def test_results_travel(pipelines: Pipelines, log: Log) -> None:
    value = {"rows": [1, {"a": "é", "b": None}]}
    done = await pipelines.run(
        {
            "a": {"kind": "give", "payload": {"value": value}},
            "whole": say("a", payload={"$result": "a"}),
            "parts": say("a", payload={"n": [{"$result": "a.rows.0"}, {"x": {"$result": "a.rows.1.a"}}]}),
            "far": say("parts", payload={"none": {"$result": "a.rows.1.b"}}),
        }
    )
    assert done.marks == "ssss"
    assert log.seen["whole"] == value
    assert log.seen["parts"] == {"n": [1, {"x": "é"}]}
    assert log.seen["far"] == {"none": None}


async def test_a_result_is_data_whatever_it_looks_like(pipelines: Pipelines, log: Log) -> None:
    """A handler's answer cannot make the pipeline read another job's result."""
    done = await pipelines.run(
        {
            "secret": say(payload={"pin": 4711}),
            "a": {"kind": "mirror"},
            "b": say("a", "secret", payload={"got": {"$result": "a.x"}}),
        }
    )
    assert done.marks == "sss"
    assert log.seen["b"] == {"got": {"$result": "secret.pin"}}


UNFIT: list[tuple[dict[str, Any], str, str]] = [
    ({"payload": {"x": {"$result": "a.rows"}}}, "InvalidReference", "'a' has no member 'rows'"),
    ({"payload": {"x": {"$result": "a.list.7"}}}, "InvalidReference", "a list of 2 and has no item '7'"),
    ({"payload": {"$result": "a.list"}}, "InvalidPayload", "came to a list"),
    ({"payload": {"x": [{"$result": "a.text"}] * 4}}, "InvalidPayload", "at most 262,144"),
    ({"run_at": "2100-01-01T00:00:00Z"}, "InvalidJob", "more than five years ahead"),
]


async def test_what_cannot_begin_says_why(pipelines: Pipelines, log: Log) -> None:
    value = {"list": [1, 2], "text": "x" * 100_000}
    jobs: dict[str, dict[str, Any]] = {"a": {"kind": "give", "payload": {"value": value}}}
    for index, (job, _, _) in enumerate(UNFIT):
        jobs |= {f"b{index}": say("a", **job), f"c{index}": say(f"b{index}")}
    jobs["alarm"] = say("b0", when="any_failed")
    handle = await pipelines.start(jobs)
    done = await ended(handle)
    assert (done.marks, done.type) == ("s" + "fu" * len(UNFIT) + "s", "JobsFailed")
    told = await faults(handle)
    for index, (_, kind, said) in enumerate(UNFIT):
        assert told[f"b{index}"]["type"] == kind and said in told[f"b{index}"]["message"]
    assert log.began == ["a", "alarm"]


async def test_many_faults_are_no_burden(pipelines: Pipelines) -> None:
    """All that are told are written down again with each that comes."""
    jobs = {f"b{n:03}": say("a", payload={"x": {"$result": "a.none"}}) for n in range(300)}
    handle = await pipelines.start({"a": say(), **jobs})
    assert (await ended(handle)).marks == "s" + "f" * 300
    assert len(await faults(handle)) == 100
    assert (await handle.describe()).raw_description.workflow_execution_info.history_size_bytes < 500_000


async def test_failures_spread_to_what_needs_them_alone(pipelines: Pipelines, log: Log) -> None:
    log.failing = {"b"}
    jobs = {
        "a": say(),
        "b": say("a"),
        "c": say("a"),
        "d": say("b", "c"),
        "e": say("d"),
        "alarm": say("e", when="any_failed", payload={"d": {"$result": "d"}, "c": {"$result": "c"}}),
        "clean": say("d", "c", when="always"),
        "unneeded": say("c", when="any_failed"),
    }
    handle = await pipelines.start(jobs)
    done = await ended(handle)
    assert (done.status, done.marks, done.type) == (Status.FAILED, "sfsuussn", "JobsFailed")
    assert done.message == "1 of 8 jobs did not succeed: b failed; 2 skipped for that"
    assert done.jobs["d"] == "skipped" and done.jobs["c"] == "succeeded"
    assert set(log.began) == {"a", "b", "c", "alarm", "clean"}
    assert log.seen["alarm"] == {"d": None, "c": {}}
    assert (await pipelines.outcome(handle, "b")).type == "Rejected"


async def test_a_job_has_all_that_a_submission_gives(pipelines: Pipelines, log: Log) -> None:
    job = {
        "priority": 2,
        "fairness_key": "tenant",
        "fairness_weight": 2.0,
        "tags": ["x", "y"],
        "retry": {"max_attempts": 7},
        "lease": "9s",
        "timeout": "8s",
        "queue_timeout": "1h",
        "delay": 1,
    }
    handle = await pipelines.start({"a": {"kind": "wait", **job}})
    child = pipelines.handle_of(handle, "a")
    activity = await eventually(lambda: pending_of(child))
    assert activity.priority.priority_key == 2 and activity.priority.fairness_key == "tenant"
    assert activity.maximum_attempts == 7
    described = await child.describe()
    found = described.typed_search_attributes
    assert found[attributes.PIPELINE_ID] == handle.id and found[attributes.QUEUE] == pipelines.queue
    assert found[attributes.TAGS] == ["x", "y"]
    assert described.raw_description.workflow_execution_info.priority.priority_key == 2
    assert described.parent_id == handle.id
    await handle.cancel()
    await ended(handle)


async def pending_of(handle: Any) -> Any:
    try:
        return await pending(handle)
    except Exception:
        return None


async def test_keys_hold_through_the_pipeline(pipelines: Pipelines, log: Log) -> None:
    handle = await pipelines.start({"a": say(retry=NO_WAIT)})
    await ended(handle)
    run_id = handle.first_execution_run_id
    assert log.jobs["a"].idempotency_key == f"{handle.id}~a:{run_id}"


async def test_no_more_jobs_at_once_than_it_says(pipelines: Pipelines, log: Log) -> None:
    jobs = {f"n{i}": say(payload={"pause": 0.05}) for i in range(9)}
    done = await pipelines.run(jobs, max_parallel=3)
    assert set(done.marks) == {"s"}
    assert 2 <= log.most <= 3


async def test_stop_on_failure(pipelines: Pipelines, log: Log) -> None:
    jobs = {
        "a": {"kind": "give", "payload": {}, "needs": ["z"], "retry": {"max_attempts": 1}},
        "long": {"kind": "wait", "lease": "2s", "needs": ["z"]},
        "z": say(),
        "later": say("long"),
        "alarm": say("long", when="any_failed"),
    }
    handle = await pipelines.start(jobs, on_failure="stop")
    done = await ended(handle)
    assert (done.marks, done.type, done.progress.halt) == ("fcshs", "JobsFailed", "failure")
    assert done.progress.reason == "the job 'a' failed"
    assert "later" not in log.began
    assert (await pipelines.outcome(handle, "long")).status is Status.CANCELED


async def test_the_deadline(pipelines: Pipelines, log: Log) -> None:
    jobs = {
        "long": {"kind": "wait", "lease": "2s"},
        "later": say("long"),
        "alarm": say("long", when="any_failed"),
        "clean": say("long", when="always"),
    }
    handle = await pipelines.start(jobs, deadline="1s")
    done = await ended(handle)
    assert (done.status, done.marks, done.type) == (Status.FAILED, "chss", "DeadlineExceeded")
    assert "within 1s" in done.message
    assert done.progress.deadline_at is not None
    found = (await handle.describe()).typed_search_attributes
    assert found[attributes.OUTCOME] == "expired"


async def test_a_deadline_of_a_job_is_its_own(pipelines: Pipelines) -> None:
    done = await pipelines.run(
        {"a": {"kind": "wait", "lease": "2s", "deadline": "1s"}, "b": say("a", when="any_failed")}
    )
    assert (done.marks, done.jobs["a"]) == ("xs", "expired")


async def test_what_a_schedule_starts_knows_its_nominal_time(
    pipelines: Pipelines, log: Log, queue: str
) -> None:
    jobs = {"a": say(), "b": say("a", for_each=[1], payload={"n": {"$item": ""}})}
    told = TypedSearchAttributes([SearchAttributePair(attributes.SCHEDULE_ID, "nightly")])
    id = f"{queue}~-2026-11-30T02:00:00Z"
    raw = {"jobs": {name: {"queue": pipelines.queue, **job} for name, job in jobs.items()}}
    handle = await pipelines.start_raw(raw, id=id, search_attributes=told)
    done = await ended(handle)
    nominal = datetime(2026, 11, 30, 2, tzinfo=UTC)
    assert done.progress.nominal_time == nominal and done.progress.schedule_id == "nightly"
    names = [job.id.removeprefix(f"{id}~") for job in log.jobs.values()]
    assert sorted(names) == ["a", "b~0"]
    assert {job.nominal_time for job in log.jobs.values()} == {nominal}
    found = (await pipelines.handle_of(handle, "b", 0).describe()).typed_search_attributes
    assert found[attributes.NOMINAL_TIME] == nominal
    # What tells it from a run of the schedule is that it is part of a pipeline.
    assert (found[attributes.SCHEDULE_ID], found[attributes.PIPELINE_ID]) == ("nightly", id)


async def test_somebody_elses_id_is_left_alone(
    pipelines: Pipelines, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "_ENDING", timedelta(seconds=1))
    id = f"{queue}-p"
    other = await pipelines.client.start_workflow(
        "Job", {"kind": "noop", "queue": pipelines.queue, "delay": "1h"}, id=f"{id}~a", task_queue="duetime"
    )
    handle = await pipelines.start({"a": say(), "b": say("a")}, id=id)
    done = await ended(handle)
    assert done.marks == "fu"
    assert (await faults(handle))["a"]["type"] == "IdInUse"
    assert (await other.describe()).status is Status.RUNNING
    await other.terminate()


BAD: list[tuple[tuple[Any, ...], str]] = [
    ((), "the pipeline: give it as the one argument"),
    ((1, 2, 3), "the pipeline: give it as the one argument"),
    (([],), "the pipeline: must be an object"),
    ((b"\xff",), "the pipeline: give it as JSON"),
    (({"jobs": {"a": {"kind": "noop"}}}, 3), "Duetime's own"),
    (({"jobs": {"a": {"kind": "noop"}}}, {"x": 1}), "Duetime's own"),
    (({"jobs": {"a": {"kind": "noop", "needs": ["a"]}}},), "/jobs/a/needs/0: a job cannot need itself"),
    (({"jobs": {}, "id": "other"},), "/jobs: a pipeline has one job at least"),
    (({"jobs": {"a": {"kind": "noop"}}, "id": "other"},), "/id: is 'other', but the workflow's id is"),
    (({"jobs": {str(i): {"kind": "noop"} for i in range(2001)}},), "2,000"),
]


async def test_bad_input_fails_readably(pipelines: Pipelines) -> None:
    started = [await pipelines.start_raw(*arguments) for arguments, _ in BAD]
    for (_, said), done in zip(
        BAD, await asyncio.gather(*(ended(handle) for handle in started)), strict=True
    ):
        assert (done.status, done.type) == (Status.FAILED, "InvalidPipeline")
        assert said in done.message


async def test_a_fan_out_of_its_own_is_refused(pipelines: Pipelines, queue: str) -> None:
    handle = await pipelines.client.start_workflow(
        "FanOut", {"items": []}, id=f"{queue}-f", task_queue="duetime"
    )
    done = await ended(handle)
    assert done.type == "InvalidPipeline" and "`Pipeline`" in done.message
