"""Jobs that somebody started with the CLI or an SDK, good and bad ones, as the API reads them."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.common import RawValue, SearchAttributePair, TypedSearchAttributes

from duetime import attributes
from duetime.worker import Worker
from tests.api.caller import Caller, problem

DUETIME = "duetime"


def payload(data: bytes, encoding: bytes = b"json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding}, data=data))


async def start(client: Client, job_id: str, *arguments: Any, **options: Any) -> None:
    await client.start_workflow("Job", args=arguments, id=job_id, task_queue=DUETIME, **options)


async def test_a_good_one_is_a_job_like_others(
    api: Caller, worker: Worker, client: Client, job_id: str
) -> None:
    job = {"kind": "echo", "queue": api.queue, "payload": {"a": 1}, "tags": ["by-hand"]}
    await start(client, job_id, job)
    done = await api.final(job_id)
    assert (done["state"], done["result"], done["tags"]) == ("succeeded", {"a": 1}, ["by-hand"])
    assert (done["queue"], done["attempt"]) == (api.queue, 1)
    again = {"kind": "echo", "id": job_id}
    assert problem(await api.post(again), 409, "id-in-use")["job"] == done


async def test_with_a_start_delay_it_is_scheduled(
    api: Caller, worker: Worker, client: Client, job_id: str
) -> None:
    await start(client, job_id, {"kind": "echo", "queue": api.queue}, start_delay=timedelta(hours=1))
    job = await api.get(job_id)
    assert job["state"] == "scheduled" and job["due_at"] > job["created_at"]
    assert (await api.command(job_id, "run-now")).status_code == 200
    assert (await api.final(job_id))["state"] == "succeeded"


BAD: dict[str, tuple[list[Any], str, str]] = {
    "no argument": ([], "unknown", "one argument"),
    "text": (["echo"], "unknown", "the job: "),
    "no kind": ([{"payload": {}}], "unknown", "/kind: is required"),
    "a bad field": ([{"kind": "echo", "priority": "high"}], "echo", "/priority"),
    "a bad kind": ([{"kind": "not a kind!"}], "not a kind!", "/kind"),
    "a kind of another type": ([{"kind": 5}], "unknown", "/kind"),
    "an unknown field": ([{"kind": "echo", "dealy": "5m"}], "echo", "delay"),
    "another id": ([{"kind": "echo", "id": "other"}], "echo", "/id"),
    "too far ahead": ([{"kind": "echo", "delay": "3000d"}], "echo", "five years"),
    "NaN": ([payload(b'{"kind": "echo", "payload": {"a": NaN}}')], "echo", "NaN"),
    "an infinity": ([payload(b'{"kind": "echo", "payload": {"a": 1e999}}')], "echo", "/payload/a"),
    "a surrogate": ([payload(b'{"kind": "echo", "payload": {"a": "\\ud800"}}')], "echo", "/payload/a"),
    "deep": (
        [payload(b'{"kind": "echo", "payload": {"a": ' + b"[" * 400 + b"]" * 400 + b"}}")],
        "echo",
        "deeper than 100",
    ),
    "digits": ([payload(b'{"kind": "echo", "payload": {"a": ' + b"9" * 5000 + b"}}")], "unknown", "digits"),
    "no JSON": ([payload(b"{")], "unknown", "not JSON"),
    "bytes": ([payload(b"\xff\xfe", b"binary/plain")], "unknown", "binary/plain"),
    "null": ([None], "unknown", "the job"),
    "an encoding of nobody": ([payload(b"x", b"binary/secret")], "unknown", "binary/secret"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_one_fails_readably(api: Caller, client: Client, job_id: str, name: str) -> None:
    arguments, kind, said = BAD[name]
    await start(client, job_id, *arguments)
    done = await api.final(job_id)
    assert (done["state"], done["kind"], done["attempts"]) == ("failed", kind, [])
    assert done["error"]["type"] == "InvalidJob" and said in done["error"]["message"]
    problem(await api.command(job_id, "cancel"), 409, "wrong-state")


async def test_what_others_leave_where_duetime_writes_does_no_harm(
    api: Caller, worker: Worker, client: Client, job_id: str
) -> None:
    memo = {"duetime": {"due_at": "yesterday"}, "duetime-key": 5, "duetime-dependents": {"a": 1}}
    found = TypedSearchAttributes([SearchAttributePair(attributes.OUTCOME, "nonsense")])
    job = {"kind": "echo", "queue": api.queue}
    await start(client, job_id, job, memo=memo, search_attributes=found, start_delay=timedelta(hours=1))
    assert (await api.get(job_id))["state"] == "scheduled"
    assert (await api.post({"kind": "echo", "id": job_id}, idempotency_key="k")).status_code == 409
    details = {"result": 5, "attempts": "none"}
    await client.get_workflow_handle(job_id).terminate(details, reason="by hand")
    done = await api.final(job_id)
    assert (done["state"], done["error"]["message"], done["result"]) == ("cancelled", "by hand", 5)


async def test_ids_of_any_kind_can_be_read_and_linked(api: Caller, client: Client, queue: str) -> None:
    job_id = f"{queue} ä?#:cancel"
    await start(client, job_id, {"kind": "echo", "queue": queue}, start_delay=timedelta(hours=1))
    job = (await api.http.get(f"/v1/jobs/{queue}%20%C3%A4%3F%23:cancel")).json()
    assert job["id"] == job_id
    assert (await api.http.get(job["links"]["self"])).json() == job


async def test_a_workflow_of_another_type_is_no_job(api: Caller, client: Client, job_id: str) -> None:
    await client.start_workflow("Other", id=job_id, task_queue=DUETIME, start_delay=timedelta(hours=1))
    for answer in (
        await api.http.get(f"/v1/jobs/{job_id}"),
        await api.http.get(f"/v1/jobs/{job_id}/result"),
        await api.patch(job_id, delay="1h"),
        await api.command(job_id, "cancel"),
        await api.command(job_id, "run-now"),
    ):
        problem(answer, 404, "not-found")
    taken = await api.post({"kind": "echo", "id": job_id})
    assert "another type" in problem(taken, 409, "id-in-use")["detail"]
