"""Jobs that nobody's API started: by the SDK, and by the `temporal` command line."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import RawValue

from duetime import Job, attributes, handler
from duetime.engine import EmbeddedEngine
from tests.support.jobs import Jobs, outcome_of
from tests.support.workers import serving

FAILED = WorkflowExecutionStatus.FAILED


async def temporal(engine: EmbeddedEngine, *arguments: str) -> str:
    """The output of the `temporal` command."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("temporal")),
        *arguments,
        "--address",
        engine.address,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


@handler("greet")
async def greet(payload: dict[str, Any], job: Job) -> dict[str, Any]:
    return {"hello": payload.get("name"), "id": job.id, "key": job.idempotency_key, "kind": job.kind}


async def test_the_command_line_starts_a_job(
    engine: EmbeddedEngine, client: Client, jobs: Jobs, job_id: str
) -> None:
    spec = {
        "kind": "greet",
        "queue": jobs.queue,
        "payload": {"name": "Zoë"},
        "tags": ["a", "b", "a"],
        "fairness_key": "tenant",
    }
    async with serving(client, jobs.queue, greet):
        await temporal(
            engine,
            *("workflow", "start", "--type", "Job", "--task-queue", "duetime"),
            *("--workflow-id", job_id, "--input", json.dumps(spec)),
        )
        handle = client.get_workflow_handle(job_id)
        ended = await outcome_of(handle)
    described = await handle.describe()
    assert ended.result == {
        "hello": "Zoë",
        "id": job_id,
        "key": f"{job_id}:{described.run_id}",
        "kind": "greet",
    }
    found = described.typed_search_attributes
    assert found.get(attributes.KIND) == "greet"
    assert found.get(attributes.QUEUE) == jobs.queue
    assert found.get(attributes.TAGS) == ["a", "b"]
    assert found.get(attributes.FAIRNESS_KEY) == "tenant"
    assert found.get(attributes.DUE_AT) == described.start_time


async def test_the_command_line_reads_how_bad_input_is_bad(
    engine: EmbeddedEngine, jobs: Jobs, job_id: str
) -> None:
    await temporal(
        engine,
        *("workflow", "start", "--type", "Job", "--task-queue", "duetime"),
        *("--workflow-id", job_id, "--input", '{"kind": "greet", "pririty": 2}'),
    )
    await outcome_of(jobs.client.get_workflow_handle(job_id))
    shown = await temporal(engine, "workflow", "describe", "--workflow-id", job_id)
    assert "FAILED" in shown
    result = json.loads(
        await temporal(engine, "workflow", "show", "--workflow-id", job_id, "--output", "json")
    )
    failure = result["events"][-1]["workflowExecutionFailedEventAttributes"]["failure"]
    assert failure["message"] == "/pririty: unknown field; did you mean `priority`?"


def raw(data: bytes | str, encoding: str = "json/plain") -> RawValue:
    content = data.encode() if isinstance(data, str) else data
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=content))


def deep(levels: int) -> str:
    return '{"kind": "greet", "payload": {"a": ' + "[" * levels + "]" * levels + "}}"


BAD: dict[str, tuple[list[Any], str]] = {
    "no input": ([], "give the job as the one argument"),
    "null": ([None], "the job is binary/null; give it as JSON"),
    "JSON null": ([raw("null")], "the job: must be an object"),
    "a list": ([[]], "the job: must be an object"),
    "a text": (["greet"], "the job: must be an object"),
    "nothing in it": ([{}], "/kind: is required"),
    "no such field": ([{"kind": "greet", "retries": 1}], "/retries: unknown field; did you mean `retry`?"),
    "wrong types": ([{"kind": 5, "tags": "x", "payload": []}], "/kind: "),
    "bad priority": ([{"kind": "greet", "priority": 9}], "/priority: "),
    "NaN": ([raw('{"kind": "greet", "payload": {"a": NaN}}')], "NaN is not a JSON number"),
    "infinity": ([raw('{"kind": "greet", "payload": {"a": 1e999}}')], "/payload/a: inf is not a JSON number"),
    "lone surrogate": (
        [raw('{"kind": "greet", "payload": {"a": "\\ud800"}}')],
        "/payload/a: a lone surrogate is not Unicode text",
    ),
    "lone surrogate in a field": ([raw('{"kind": "\\ud800"}')], "/kind: "),
    "not UTF-8": ([raw(b'{"kind": "\xff"}')], "the job is not JSON: "),
    "not JSON": ([raw("{kind: greet}")], "the job is not JSON: "),
    "no end": ([raw("{")], "the job is not JSON: "),
    "empty": ([raw("")], "the job is not JSON: "),
    "too deep": ([raw(deep(200))], "/payload: nested deeper than 100 levels"),
    "absurdly deep": ([raw(deep(100_000))], "nested deeper than 100 levels"),
    "long number": ([raw('{"kind": "greet", "delay": ' + "9" * 5_000 + "}")], "too many digits"),
    "large number": ([raw('{"kind": "greet", "delay": ' + "9" * 4_000 + "}")], "/delay: longer than 100 years"),
    "twice": ([raw('{"kind": "greet", "kind": "other"}')], "is there twice"),
    "bytes": ([b"greet"], "the job is binary/plain; give it as JSON"),
    "no encoding": ([raw("{}", "")], "the job is of no encoding; give it as JSON"),
    "odd encoding": ([raw("{}", "\xff/x")], "give it as JSON"),
    "protobuf": ([raw("{}", "json/protobuf")], "the job is json/protobuf; give it as JSON"),
    "two arguments": ([{"kind": "greet"}, {"kind": "other"}], "the second one is Duetime's own"),
    "an empty second one": ([{"kind": "greet"}, {}], "the second one is Duetime's own"),
    "a wrong second one": (
        [{"kind": "greet"}, {"$duetime": 1, "priority": 99}],
        "the second one is Duetime's own",
    ),
    "three arguments": ([1, 2, 3], "there are 3"),
    "too large": ([{"kind": "greet", "payload": {"a": "x" * 300 * 1024}}], "307,208 bytes of JSON; at most 262,144"),
    "faults without end": (
        [{"kind": "greet", **{f"{'x' * 40}{number}": 1 for number in range(20_000)}}],
        "unknown field; known are",
    ),
    "a long unknown name": ([{"kind": "greet", "k" * 1_000_000: 1}], "unknown field"),
    "a long key": (
        [raw('{"kind": "greet", "payload": {"' + "k" * 200_000 + '": [1e999]}}')],
        "[cut, ",
    ),
    "another id": ([{"kind": "greet", "id": "other"}], "/id: is 'other', but the workflow's id is"),
    "far away": ([{"kind": "greet", "delay": "2000d"}], "more than five years ahead"),
    "no such zone": (
        [{"kind": "greet", "run_at": "2027-01-15T09:00:00", "timezone": "../../etc/passwd"}],
        "/timezone: unknown time zone",
    ),
    "reserved": ([{"kind": "greet", "queue": "duetime"}], "/queue: "),
}  # fmt: skip


async def test_bad_input_fails_readably_and_never_loops(jobs: Jobs) -> None:
    handles = await asyncio.gather(*(jobs.start_raw(*arguments) for arguments, _ in BAD.values()))
    for (name, (_, why)), handle in zip(BAD.items(), handles, strict=True):
        ended = await outcome_of(handle)
        assert (ended.status, ended.type) == (FAILED, "InvalidJob"), name
        assert why in ended.message, (name, ended.message)
        assert len(ended.message) < 2_100, name
    for handle in handles:
        assert await workflow_tasks(handle) == 1


async def workflow_tasks(handle: WorkflowHandle) -> int:
    return sum(
        [
            event.HasField("workflow_task_started_event_attributes")
            async for event in handle.fetch_history_events()
        ]
    )


async def test_another_workflow_type(client: Client, orchestration: None, job_id: str) -> None:
    handle = await client.start_workflow("Jobs", {"kind": "greet"}, id=job_id, task_queue="duetime")
    ended = await outcome_of(handle)
    assert (ended.type, ended.message) == ("InvalidJob", "there is no workflow type 'Jobs' here: start 'Job'")


@pytest.mark.parametrize("odd", ["a b/c", "ü~😀", "%s %(x)s"])
async def test_ids_that_only_temporal_allows(jobs: Jobs, client: Client, odd: str) -> None:
    async with serving(client, jobs.queue, greet):
        handle = await jobs.start("greet", id=f"{jobs.queue} {odd}")
        assert (await outcome_of(handle)).result["id"] == f"{jobs.queue} {odd}"
