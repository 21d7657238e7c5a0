"""What becomes of a submission whose id is taken."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from api.jobs import submission
from duetime.starting import Take, begin
from duetime.worker import Worker
from tests.api.caller import Caller, problem
from tests.api.stage import Stage


async def test_of_fifty_with_one_id_one_is_accepted(api: Caller, job_id: str) -> None:
    body = {"kind": "echo", "queue": api.queue, "id": job_id, "delay": "1h"}
    answers = await asyncio.gather(*(api.post(body) for _ in range(50)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 49}
    (made,) = [answer.json() for answer in answers if answer.status_code == 201]
    for refusal in [answer for answer in answers if answer.status_code == 409]:
        named = problem(refusal, 409, "id-in-use")
        assert "on_conflict" in named["detail"]
        assert named["job"]["id"] == job_id and named["job"]["run_id"] == made["run_id"]
        assert named["job"]["state"] == "scheduled"


async def test_return_gives_the_open_job_to_all_but_one(api: Caller, job_id: str) -> None:
    body = {"kind": "echo", "queue": api.queue, "id": job_id, "delay": "1h", "on_conflict": "return"}
    answers = await asyncio.gather(*(api.post(body) for _ in range(20)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 19}
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert not any("idempotency-replayed" in answer.headers for answer in answers)


async def test_replace_ends_a_scheduled_job_and_starts_the_new(api: Caller, job_id: str) -> None:
    old = await api.submit(id=job_id, delay="1h", payload={"n": 1})
    new = await api.submit(id=job_id, delay="2h", payload={"n": 2}, on_conflict="replace")
    assert new["run_id"] != old["run_id"] and new["id"] == job_id
    job = await api.get(job_id)
    assert (job["payload"], job["due_at"], job["state"]) == ({"n": 2}, new["due_at"], "scheduled")


async def test_replace_takes_the_lease_from_a_running_handler(
    api: Caller, worker: Worker, stage: Stage, job_id: str
) -> None:
    await api.submit("gate", id=job_id, lease="2s")
    old = await stage.began(job_id)
    await api.submit("gate", id=job_id, lease="2s", on_conflict="replace", payload={"new": True})
    new = await stage.began(job_id, 2)
    assert new.payload == {"new": True}
    assert new.token > old.token
    assert new.idempotency_key != old.idempotency_key
    await asyncio.wait_for(old.stopped.wait(), 60)  # Told at its next heartbeat.
    await stage.release(job_id)
    done = await api.final(job_id)
    assert done["state"] == "succeeded" and done["payload"] == {"new": True}
    assert [attempt["fencing_token"] for attempt in done["attempts"]] == [new.token]


@pytest.mark.parametrize("reuse_id", [False, True])
async def test_a_job_that_succeeds_while_it_is_being_replaced_is_not_done_again(
    api: Caller,
    worker: Worker,
    stage: Stage,
    job_id: str,
    monkeypatch: pytest.MonkeyPatch,
    reuse_id: bool,
) -> None:
    """It was open when it was looked at, and had succeeded when the new one was to start."""
    await api.submit("gate", id=job_id)
    await stage.began(job_id)

    async def begin_late(client: Any, start: Any, take: Take, *rest: Any) -> Any:
        if take in (Take.REPLACE, Take.REPLACE_ANY):
            await stage.release(job_id)
            assert (await api.final(job_id))["state"] == "succeeded"
        return await begin(client, start, take, *rest)

    monkeypatch.setattr(submission, "begin", begin_late)
    body = {"kind": "echo", "queue": api.queue, "id": job_id, "on_conflict": "replace", "reuse_id": reuse_id}
    answer = await api.post(body)
    done = await api.final(job_id)
    if reuse_id:
        assert answer.status_code == 201 and done["kind"] == "echo"
    else:
        assert problem(answer, 409, "id-in-use")["job"]["result"] == "opened"
        assert done["kind"] == "gate"


@pytest.mark.parametrize("policy", ["reject", "return", "replace"])
async def test_a_finished_id_is_taken_whatever_the_policy(
    api: Caller, worker: Worker, job_id: str, policy: str
) -> None:
    await api.submit(id=job_id, payload={"n": 1})
    await api.final(job_id)
    body = {"kind": "echo", "queue": api.queue, "id": job_id, "payload": {"n": 2}, "on_conflict": policy}
    refusal = problem(await api.post(body), 409, "id-in-use")
    assert "reuse_id" in refusal["detail"] and refusal["job"]["state"] == "succeeded"
    assert (await api.get(job_id))["result"] == {"n": 1}
    again = await api.post({**body, "reuse_id": True})
    assert again.status_code == 201
    assert (await api.final(job_id))["result"] == {"n": 2}


async def test_reuse_id_is_no_way_around_an_open_job(api: Caller, job_id: str) -> None:
    await api.submit(id=job_id, delay="1h")
    body = {"kind": "echo", "id": job_id, "delay": "1h", "reuse_id": True}
    problem(await api.post(body), 409, "id-in-use")


async def test_many_that_reuse_one_finished_id_make_one_job(api: Caller, worker: Worker, job_id: str) -> None:
    await api.submit(id=job_id)
    await api.final(job_id)
    body = {"kind": "echo", "queue": api.queue, "id": job_id, "delay": "1h", "reuse_id": True}
    answers = await asyncio.gather(*(api.post(body) for _ in range(20)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 19}
