"""What a pipeline may say, whose id it may take, and what is the same pipeline again."""

import uuid
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from duetime.contracts import limits
from duetime.worker import Worker
from tests.api.caller import Caller, faults, problem
from tests.api.stage import Stage
from tests.pipelines_api.conftest import Pipelines, states
from tests.pipelines_api.handlers import TYPED
from tests.support.waiting import eventually

#: Name: (jobs, pointer, a part of the message).
BAD: dict[str, tuple[Any, str, str]] = {
    "no jobs": ({}, "/jobs", "one job at least"),
    "a cycle": (
        {"a": {"needs": ["c"]}, "b": {"needs": ["a"]}, "c": {"needs": ["b"]}},
        "/jobs/a/needs",
        "a needs c needs b needs a",
    ),
    "itself": ({"a": {"needs": ["a"]}}, "/jobs/a/needs/0", "itself"),
    "an unknown name": ({"a": None, "b": {"needs": ["A"]}}, "/jobs/b/needs/0", "did you mean 'a'?"),
    "a reference to nobody": (
        {"a": {"payload": {"x": [{"$result": "b.y"}]}}},
        "/jobs/a/payload/x/0",
        "no job 'b'",
    ),
    "a reference outside of what it needs": (
        {"a": None, "b": {"payload": {"x": {"$result": "a.y"}}}},
        "/jobs/b/payload/x",
        "name it in `needs`",
    ),
    "an id of its own": ({"a": {"id": "mine"}}, "/jobs/a/id", "leave it out"),
    "a bad name": ({"a b": None}, "/jobs/a b", "may hold letters, digits and"),
    "a field with a typing error": ({"a": {"nedes": []}}, "/jobs/a/nedes", "did you mean `needs`?"),
    "a bad field of a job": ({"a": {"priority": 9}}, "/jobs/a/priority", "at most 5"),
    "a condition that there is not": ({"a": {"when": "maybe"}}, "/jobs/a/when", "all_succeeded"),
    "a job after one that nobody knows": (
        {"a": {"after": ["none-such"]}},
        "/jobs/a/after/0",
        "no job has the id",
    ),
    "a time too far ahead": ({"a": {"delay": "3000d"}}, "/jobs/a/delay", "five years"),
    "notifications": ({"a": {"notify": []}}, "/jobs/a/notify", "not available"),
}


@pytest.mark.parametrize("name", BAD)
async def test_what_cannot_be_is_refused_with_a_pointer(name: str, pipelines: Pipelines) -> None:
    jobs, pointer, message = BAD[name]
    found = faults(await pipelines.post(jobs))
    assert pointer in found, found
    assert message in found[pointer]


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"max_parallel": 0}, "/max_parallel", "at least 1"),
        ({"on_failure": "explode"}, "/on_failure", "one of 'continue', 'stop'"),
        ({"deadline": "0s"}, "/deadline", "must be from 1s"),
        ({"dealine": "1h"}, "/dealine", "did you mean `deadline`?"),
        ({"id": "a~b"}, "/id", "may hold letters, digits and"),
        ({"reuse_id": "yes"}, "/reuse_id", "true or false"),
    ],
)
async def test_fields_of_the_pipeline_itself(
    pipelines: Pipelines, fields: dict[str, Any], pointer: str, message: str
) -> None:
    found = faults(await pipelines.post({"a": None}, fields))
    assert message in found[pointer]


async def test_bounds_are_told(pipelines: Pipelines) -> None:
    many = {f"j{number}": None for number in range(limits.PIPELINE_JOBS + 1)}
    assert "2,000" in faults(await pipelines.post(many))["/jobs"]
    large = {"a": {"payload": {"x": "y" * limits.PAYLOAD_BYTES}}}
    refused = problem(await pipelines.post(large), 413, "too-large")
    assert "the payload of 'a'" in refused["detail"]
    whole = {f"j{number}": {"payload": {"x": "y" * 200_000}} for number in range(9)}
    refused = problem(await pipelines.post(whole), 413, "too-large")
    assert "the pipeline has" in refused["detail"]


async def test_the_answer_tells_it_all_before_anything_has_begun(pipelines: Pipelines) -> None:
    jobs = {"load": {"needs": ["extract"]}, "extract": {"delay": "1h"}}
    answer = await pipelines.post(jobs, {"id": f"p-{pipelines.queue}", "deadline": "6h"})
    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == body["links"]["self"] == f"/v1/pipelines/p-{pipelines.queue}"
    assert list(body["jobs"]) == ["extract", "load"], "each after what it needs"
    assert states(body) == {"extract": "waiting", "load": "waiting"}
    assert body["state"] == "queued"
    assert body["jobs"]["load"]["id"] == f"p-{pipelines.queue}~load"
    assert f"no worker polls the queue '{pipelines.queue}' (no_active_workers)" in body["warnings"]
    assert len(body["warnings"]) == len(set(body["warnings"]))
    graph = await pipelines.http.get(body["links"]["graph"])
    assert graph.status_code == 200


async def test_payloads_are_held_to_their_kinds_but_for_what_is_not_known_yet(
    pipelines: Pipelines, client: Client
) -> None:
    async with Worker(client, [TYPED], queues=[pipelines.queue]):
        first = {"kind": "echo"}
        fits = {
            "kind": "typed",
            "needs": ["a"],
            "payload": {"rows": {"$result": "a.rows"}, "inner": {"x": {"$result": "a"}}},
        }

        async def is_known() -> bool:
            """What was announced just now is known a moment later."""
            answer = await pipelines.post({"a": first, "b": fits})
            assert answer.status_code == 201, answer.text
            return not any("the kind 'typed'" in warning for warning in answer.json()["warnings"])

        await eventually(is_known)
        bad = {
            "kind": "typed",
            "needs": ["a"],
            "payload": {"rows": {"$result": "a.rows"}, "inner": {"y": {"$result": "a"}}, "more": 1},
        }
        found = faults(await pipelines.post({"a": first, "b": bad}))
        assert found["/jobs/b/payload/inner"] == "'x' is a required property"
        assert "'more' was unexpected" in found["/jobs/b/payload"]
        assert set(found) == {"/jobs/b/payload/inner", "/jobs/b/payload"}


async def test_a_key_and_its_body_are_one_pipeline(pipelines: Pipelines) -> None:
    key = uuid.uuid4().hex
    jobs = {"a": {"delay": "1h"}}
    first = await pipelines.post(jobs, Idempotency_Key=key)
    assert (first.status_code, first.json()["id"][:4]) == (201, "key~")
    assert "as long as the pipeline is retained" in first.headers["idempotency-key-kept"]
    again = await pipelines.post(jobs, Idempotency_Key=key)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    assert again.json()["run_id"] == first.json()["run_id"]
    problem(await pipelines.post({"a": {"delay": "2h"}}, Idempotency_Key=key), 422, "idempotency-key-reused")
    twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    body = {"jobs": pipelines.jobs(jobs)}
    assert (await pipelines.http.post("/v1/pipelines", json=body, headers=twice)).status_code == 422


async def test_an_id_that_is_taken(pipelines: Pipelines, api: Caller, http: httpx2.AsyncClient) -> None:
    pipeline_id = f"p-{pipelines.queue}"
    first = await pipelines.submit({"a": {"delay": "1h"}}, id=pipeline_id)
    await pipelines.until(pipeline_id, lambda now: now["state"] == "running")
    refused = problem(await pipelines.post({"b": None}, {"id": pipeline_id}), 409, "id-in-use")
    assert refused["pipeline"]["run_id"] == first["run_id"]
    returned = await pipelines.post({"b": None}, {"id": pipeline_id, "on_conflict": "return"})
    assert (returned.status_code, list(returned.json()["jobs"])) == (200, ["a"])
    replaced = await pipelines.post({"b": {"delay": "1h"}}, {"id": pipeline_id, "on_conflict": "replace"})
    assert (replaced.status_code, list(replaced.json()["jobs"])) == (201, ["b"])
    assert replaced.json()["run_id"] != first["run_id"]
    assert (await pipelines.command(pipeline_id, "cancel", mode="force")).status_code == 202
    finished = problem(await pipelines.post({"c": None}, {"id": pipeline_id}), 409, "id-in-use")
    assert "reuse_id" in finished["detail"]
    reused = await pipelines.post({"c": {"delay": "1h"}}, {"id": pipeline_id, "reuse_id": True})
    assert (reused.status_code, list(reused.json()["jobs"])) == (201, ["c"])

    job = await api.submit(delay="1h")
    problem(await pipelines.post({"a": None}, {"id": job["id"]}), 409, "id-in-use")
    problem(await api.post({"kind": "echo", "id": pipeline_id}), 409, "id-in-use")
    problem(await http.get(f"/v1/pipelines/{job['id']}"), 404)
    problem(await http.get(f"/v1/jobs/{pipeline_id}"), 404)


async def test_one_that_is_replaced_ends_with_its_jobs(
    pipelines: Pipelines, api: Caller, serving: Stage
) -> None:
    own = f"p-{pipelines.queue}"
    await pipelines.submit({"a": {"kind": "gate"}}, id=own)
    old = await serving.began(f"{own}~a")
    replaced = await pipelines.post({"a": {"kind": "gate"}}, {"id": own, "on_conflict": "replace"})
    assert replaced.status_code == 201, replaced.text
    new = await serving.began(f"{own}~a", attempt=2)
    assert old.stopped.is_set(), "before another has the id of its job"
    assert new.token > old.token
    assert new.idempotency_key != old.idempotency_key
    await serving.release(f"{own}~a")
    assert (await pipelines.final(own))["run_id"] == replaced.json()["run_id"]
