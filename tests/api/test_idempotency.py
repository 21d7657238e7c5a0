"""The Idempotency-Key header: one job for one key and body, however often it is asked for."""

import asyncio
import json
import uuid
from collections import Counter

import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.contracts.kinds import KindEntry
from duetime.registry import announce
from duetime.worker import Worker
from tests.api.caller import Answer, Caller, faults, problem
from tests.api.conftest import calling, settings
from tests.api.stage import PATIENCE

POINTER = "header Idempotency-Key"


@pytest.fixture
def key() -> str:
    return f"key-{uuid.uuid4()}"


def replayed(answer: Answer) -> bool:
    return answer.status_code == 200 and answer.headers.get("idempotency-replayed") == "true"


async def test_a_hundred_at_once_are_one_job(api: Caller, key: str) -> None:
    body = {"kind": "echo", "queue": api.queue, "delay": "1h"}
    answers = await asyncio.gather(*(api.post(body, idempotency_key=key) for _ in range(100)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 99}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert sum(replayed(answer) for answer in answers) == 99
    for answer in answers:
        assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
        assert "retained" in answer.headers["idempotency-key-kept"]


async def test_two_bodies_at_once_are_one_job_and_one_mistake(api: Caller, key: str) -> None:
    bodies = [{"kind": "echo", "delay": "1h", "payload": {"n": n % 2}} for n in range(20)]
    answers = await asyncio.gather(*(api.post(body, idempotency_key=key) for body in bodies))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 9, 422: 10}
    made = [answer.json()["payload"] for answer in answers if answer.status_code in (200, 201)]
    assert all(payload == made[0] for payload in made)


async def test_another_body_is_a_mistake_that_names_the_header(api: Caller, key: str) -> None:
    assert (await api.post({"kind": "echo", "delay": "1h"}, idempotency_key=key)).status_code == 201
    answer = await api.post({"kind": "echo", "delay": "2h"}, idempotency_key=key)
    body = problem(answer, 422, "idempotency-key-reused")
    assert [fault["pointer"] for fault in body["errors"]] == [POINTER]


async def test_the_order_of_members_is_nothing_their_values_are_all(api: Caller, key: str) -> None:
    async def send(text: str) -> Answer:
        headers = {"content-type": "application/json", "idempotency-key": key}
        return await api.http.post("/v1/jobs", content=text, headers=headers)

    first = await send('{"kind": "echo", "delay": "1h", "payload": {"a": 1, "b": [1, 2]}}')
    assert first.status_code == 201
    assert replayed(await send('{"payload":{"b":[1,2],"a":1},"delay":"1h","kind":"\\u0065cho"}'))
    problem(await send('{"kind": "echo", "delay": "1h", "payload": {"a": 1, "b": [2, 1]}}'), 422)
    problem(await send('{"kind": "echo", "delay": "1h", "payload": {"a": true, "b": [1, 2]}}'), 422)


async def test_a_key_answers_after_the_end_and_from_a_new_instance(
    api: Caller, worker: Worker, client: Client, key: str
) -> None:
    body = {"kind": "echo", "queue": api.queue, "payload": {"n": 1}}
    first = await api.post(body, idempotency_key=key)
    done = await api.final(first.json()["id"])
    assert done["state"] == "succeeded"
    async with calling(create_app(settings(), client)) as other:
        again = await Caller(other).post(body, idempotency_key=key)
        assert replayed(again)
        assert again.json() == done
        problem(await Caller(other).post({**body, "payload": {}}, idempotency_key=key), 422)


async def test_a_refused_submission_is_not_remembered(api: Caller, key: str) -> None:
    assert faults(await api.post({"kind": "echo", "delay": "-1s"}, idempotency_key=key))
    assert (await api.post({"kind": "echo", "delay": "1h"}, idempotency_key=key)).status_code == 201


async def test_what_was_accepted_once_is_replayed_though_it_would_be_refused_now(
    api: Caller, client: Client, key: str
) -> None:
    kind = f"kind-{uuid.uuid4().hex[:8]}"
    body = {"kind": kind, "queue": api.queue, "delay": "1h", "payload": {"n": "five"}}
    first = await api.post(body, idempotency_key=key)
    assert first.status_code == 201
    numbers = {"type": "object", "properties": {"n": {"type": "integer"}}}
    await announce(client, [KindEntry(kind=kind, queue=api.queue, payload_schema=numbers)])
    async with asyncio.timeout(PATIENCE):
        while (refused := await api.post(body)).status_code != 422:  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # What is known of kinds is some seconds old.
    assert list(faults(refused)) == ["/payload/n"]
    again = await api.post(body, idempotency_key=key)
    assert replayed(again) and again.json()["run_id"] == first.json()["run_id"]
    assert faults(await api.post({**body, "delay": "2h"}, idempotency_key=key)), (
        "another body is refused as such"
    )


async def test_with_an_id_the_key_counts_for_that_job_alone(api: Caller, key: str, job_id: str) -> None:
    body = {"kind": "echo", "delay": "1h", "id": job_id}
    first = await api.post(body, idempotency_key=key)
    assert first.status_code == 201 and first.json()["id"] == job_id
    assert replayed(await api.post(body, idempotency_key=key))
    problem(await api.post({**body, "delay": "2h"}, idempotency_key=key), 422, "idempotency-key-reused")
    problem(await api.post(body, idempotency_key=f"{key}-other"), 409, "id-in-use")
    problem(await api.post(body), 409, "id-in-use")
    other = await api.post({**body, "id": f"{job_id}-2"}, idempotency_key=key)
    assert other.status_code == 201, "the same key with another id is another job"
    alone = await api.post({"kind": "echo", "delay": "1h"}, idempotency_key=key)
    assert alone.status_code == 201 and alone.json()["id"] not in (job_id, f"{job_id}-2")


async def test_a_repeated_replacement_replaces_once(api: Caller, key: str, job_id: str) -> None:
    await api.submit(id=job_id, delay="1h")
    body = {"kind": "echo", "delay": "2h", "id": job_id, "on_conflict": "replace"}
    first = await api.post(body, idempotency_key=key)
    again = await api.post(body, idempotency_key=key)
    assert first.status_code == 201 and replayed(again)
    assert again.json()["run_id"] == first.json()["run_id"]


GOOD = {
    "one": "a",
    "longest": "k" * 255,
    "quoted": '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
    "signs": "a:b/c d~?",
}


@pytest.mark.parametrize("good", GOOD.values(), ids=GOOD)
async def test_keys_that_are_keys(api: Caller, good: str) -> None:
    body = {"kind": "echo", "queue": api.queue, "delay": "1h", "payload": {"test": api.queue}}
    assert (await api.post(body, idempotency_key=good)).status_code == 201
    assert replayed(await api.post(body, idempotency_key=good))


BAD = {
    "empty": b"",
    "one too long": b"k" * 256,
    "far too long": b"k" * 10_000,
    "emoji": "😀".encode(),
    "accents": "clé".encode(),
    "latin-1": "clé".encode("latin-1"),
    "tab": b"a\tb",
    "delete": b"a\x7fb",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_keys_that_are_none(api: Caller, bad: bytes) -> None:
    body = json.dumps({"kind": "echo", "delay": "1h"})
    headers = [(b"content-type", b"application/json"), (b"idempotency-key", bad)]
    answer = await api.http.post("/v1/jobs", content=body, headers=headers)
    assert list(faults(answer)) == [POINTER]


async def test_two_keys_are_none(api: Caller) -> None:
    headers = [(b"content-type", b"application/json"), (b"idempotency-key", b"a"), (b"idempotency-key", b"b")]
    answer = await api.http.post("/v1/jobs", content=b'{"kind": "echo", "delay": "1h"}', headers=headers)
    assert "twice" in faults(answer)[POINTER]
