"""What other schedulers were reported for: jobs that vanish, run after all, or are made twice."""

import asyncio
import json
from datetime import datetime, timedelta

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.worker import Worker
from tests.api.caller import Caller, JobJson, problem
from tests.api.conftest import calling, settings
from tests.api.stage import HANDLERS, Stage
from tests.support.waiting import eventually

NEXT_HOUR = {"initial_interval": "1h", "max_interval": "1h"}


async def listed(api: Caller, **filters: str) -> dict[str, JobJson]:
    answer = await api.http.get("/v1/jobs", params={"queue": api.queue, **filters})
    assert answer.status_code == 200, answer.text
    return {job["id"]: job for job in answer.json()["jobs"]}


def seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)) / timedelta(seconds=1)


async def test_a_job_whose_attempts_are_used_up_is_kept_and_can_be_redriven(
    api: Caller, worker: Worker, stage: Stage
) -> None:
    retry = {"max_attempts": 3, "initial_interval": "1s", "backoff": 2, "jitter": 0}
    accepted = await api.submit("flaky", payload={"failures": 9}, retry=retry)
    job = await api.final(accepted["id"])
    assert (job["state"], job["attempt"]) == ("failed", 3)
    assert (job["error"]["type"], job["error"]["message"]) == ("ConnectionError", "failure 3")
    assert [attempt["error"]["message"] for attempt in job["attempts"]] == [f"failure {n}" for n in (1, 2, 3)]
    first, second, third = job["attempts"]
    assert seconds(first["finished_at"], second["started_at"]) >= 1
    assert seconds(second["finished_at"], third["started_at"]) >= 2
    assert job["finished_at"] >= third["finished_at"]

    await eventually(lambda: listed(api, state="failed"))
    assert list(await listed(api, state="failed")) == [accepted["id"]]
    assert (await api.command(accepted["id"], "retry")).status_code == 200
    again = await api.final(accepted["id"])
    assert (again["state"], again["attempt"], len(stage.attempts(accepted["id"]))) == ("failed", 3, 6)


async def test_one_attempt_is_one_attempt(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("flaky", payload={"failures": 9}, retry={"max_attempts": 1})
    assert (await api.final(accepted["id"]))["state"] == "failed"
    assert len(stage.attempts(accepted["id"])) == 1


async def test_every_job_is_in_one_state_and_counted_there(api: Caller, client: Client, stage: Stage) -> None:
    """What was submitted is the sum of all states, however the jobs ended or where they are."""
    async with Worker(client, HANDLERS, queues=[api.queue]):
        running = await api.submit("gate")
        await stage.began(running["id"])
        made = {
            "scheduled": await api.submit(delay="1h"),
            "waiting": await api.submit(after=[running["id"]]),
            "running": running,
            "retrying": await api.submit("flaky", payload={"failures": 9}, retry=NEXT_HOUR),
            "succeeded": await api.submit("echo"),
            "failed": await api.submit("reject"),
            "cancelled": await api.submit(delay="1h"),
            "expired": await api.submit("nobody.serves-this", deadline="1s"),
        }
        await api.command(made["cancelled"]["id"], "cancel")
        for state in ("succeeded", "failed", "expired"):
            await api.final(made[state]["id"])
        await api.until(made["retrying"]["id"], "retrying")

        async def counted() -> bool:
            answer = await api.http.get("/v1/jobs:count", params={"queue": api.queue, "by": "state"})
            counts = {state: number for state, number in answer.json()["states"].items() if number}
            return counts == dict.fromkeys(made, 1) and answer.json()["total"] == len(made)

        await eventually(counted)
        for state, job in made.items():
            assert (await api.get(job["id"]))["state"] == state
            assert list(await listed(api, state=state)) == [job["id"]]
        await stage.release_all()


async def test_a_cancelled_job_runs_in_no_later_life(
    api: Caller, client: Client, stage: Stage, job_id: str
) -> None:
    """Cancelled with no worker alive; the API that did it is gone when workers come."""
    async with calling(create_app(settings(), client)) as http:
        first = Caller(http, api.queue)
        await first.submit(id=job_id, delay="1s")
        assert (await first.command(job_id, "cancel")).json()["state"] == "cancelled"
    async with calling(create_app(settings(), client)) as http, Worker(client, HANDLERS, queues=[api.queue]):
        second = Caller(http, api.queue)
        assert (await second.get(job_id))["state"] == "cancelled"
        assert (await second.command(job_id, "cancel")).status_code == 202, "the same answer again"
        due_later = await second.submit(delay="1s")
        assert (await second.final(due_later["id"]))["state"] == "succeeded"
        assert stage.attempts(job_id) == []
        await second.submit(id=job_id, reuse_id=True, payload={"n": 2})
        assert (await second.final(job_id))["result"] == {"n": 2}
    assert len(stage.attempts(job_id)) == 1


async def test_a_queue_that_nobody_polls_is_told_and_nothing_in_it_is_lost(
    api: Caller, client: Client, stage: Stage
) -> None:
    accepted = await api.submit("echo")
    timed = await api.submit("echo", queue_timeout="1s")
    for job in (accepted, timed):
        assert any("no_active_workers" in warning for warning in job["warnings"])
    ended = await api.final(timed["id"])
    assert (ended["state"], ended["error"]["type"], ended["attempts"]) == ("failed", "QueueTimeout", [])
    await eventually(lambda: listed(api, state="failed"))
    assert list(await listed(api, state="failed")) == [timed["id"]]
    assert (await api.get(accepted["id"]))["state"] == "queued"
    async with Worker(client, HANDLERS, queues=[api.queue]):
        assert (await api.final(accepted["id"]))["state"] == "succeeded"
    assert (len(stage.attempts(accepted["id"])), len(stage.attempts(timed["id"]))) == (1, 0)


@pytest.mark.parametrize("read_first", [False, True], ids=["gone at once", "gone after a while"])
async def test_callers_that_leave_spoil_nothing_for_the_others(
    api: Caller, address: str, job_id: str, read_first: bool
) -> None:
    """Fifty with one key, of whom some hang up before they are answered: one job, which all others are told of."""
    body = json.dumps({"kind": "echo", "queue": api.queue, "delay": "1h"}).encode()
    key = f"key-{job_id}"
    host, port = address.removeprefix("http://").split(":")
    head = (
        f"POST /v1/jobs HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()

    async def leave() -> None:
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head + body)
        await writer.drain()
        if read_first:
            await asyncio.sleep(0.01)
        writer.transport.abort()

    async def ask(http: httpx2.AsyncClient) -> httpx2.Response:
        headers = {"content-type": "application/json", "idempotency-key": key}
        return await http.post("/v1/jobs", content=body, headers=headers)

    async with httpx2.AsyncClient(base_url=address, timeout=60) as http:
        answers = await asyncio.gather(
            *(ask(http) for _ in range(40)), *(leave() for _ in range(10)), return_exceptions=False
        )
        told = [answer for answer in answers if answer is not None]
        assert {answer.status_code for answer in told} <= {200, 201}
        assert sum(answer.status_code == 201 for answer in told) <= 1
        assert len({answer.json()["run_id"] for answer in told}) == 1
        await eventually(lambda: listed(api))
        assert list(await listed(api)) == [told[0].json()["id"]]
    other = {"kind": "echo", "queue": api.queue, "delay": "2h"}
    problem(await api.post(other, idempotency_key=key), 422, "idempotency-key-reused")
