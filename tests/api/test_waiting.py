"""`GET /v1/jobs/{id}/result?wait=`: the final job as soon as there is one, else the current one."""

import asyncio

import pytest

from duetime.worker import Worker
from tests.api.caller import Answer, Caller, problem
from tests.api.stage import Stage


async def result(api: Caller, job_id: str, wait: str | None = None) -> Answer:
    return await api.http.get(f"/v1/jobs/{job_id}/result", params={"wait": wait} if wait else {})


async def test_without_a_wait_it_says_how_things_are(api: Caller, worker: Worker) -> None:
    accepted = await api.submit(delay="1h")
    answer = await result(api, accepted["id"])
    assert (answer.status_code, answer.json()["state"]) == (202, "scheduled")
    done = await api.submit("echo", payload={"n": 1})
    final = await api.final(done["id"])
    for wait in (None, "0s", "60s", "5m"):
        answer = await result(api, done["id"], wait)
        assert (answer.status_code, answer.json()) == (200, final), "at once"


@pytest.mark.parametrize("wait", ["200ms", "PT0.2S", "0.2"])
async def test_a_wait_that_is_over_gives_the_current_job(
    api: Caller, worker: Worker, stage: Stage, wait: str
) -> None:
    accepted = await api.submit("gate")
    await stage.began(accepted["id"])
    loop = asyncio.get_running_loop()
    began = loop.time()
    answer = await result(api, accepted["id"], wait)
    assert loop.time() - began >= 0.2
    assert (answer.status_code, answer.json()["state"]) == (202, "running")
    assert answer.json()["lease"]["worker"]


async def test_many_waiters_get_the_end(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("gate")
    await stage.began(accepted["id"])
    waiters = [asyncio.create_task(result(api, accepted["id"], "60s")) for _ in range(20)]
    await stage.release(accepted["id"])
    answers = await asyncio.gather(*waiters)
    assert {(answer.status_code, answer.json()["result"]) for answer in answers} == {(200, "opened")}


async def test_a_wait_goes_on_in_the_job_that_took_the_id(
    api: Caller, worker: Worker, stage: Stage, job_id: str
) -> None:
    await api.submit("gate", id=job_id)
    await stage.began(job_id)
    waiter = asyncio.create_task(result(api, job_id, "60s"))
    new = await api.submit("gate", id=job_id, on_conflict="replace")
    await stage.began(job_id, 2)
    assert not waiter.done()
    await stage.release(job_id)
    answer = await waiter
    assert (answer.status_code, answer.json()["run_id"]) == (200, new["run_id"])
    assert answer.json()["state"] == "succeeded"


async def test_a_wait_sees_a_cancellation(api: Caller) -> None:
    accepted = await api.submit(delay="1h")
    waiter = asyncio.create_task(result(api, accepted["id"], "60s"))
    await api.command(accepted["id"], "cancel")
    answer = await waiter
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")


async def test_nobody_waits_for_an_unknown_job(api: Caller, job_id: str) -> None:
    problem(await result(api, job_id, "60s"), 404, "not-found")
