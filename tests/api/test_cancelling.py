"""`POST /v1/jobs/{id}:cancel` in every state that a job can be in."""

import asyncio
from typing import Any

import pytest
from temporalio.client import Client

from duetime.worker import Worker
from tests.api.caller import Caller, JobJson, faults, problem
from tests.api.stage import HANDLERS, Stage

RETRY_LATER = {"initial_interval": "1h", "max_interval": "1h"}


async def cancelled(api: Caller, job_id: str, **how: Any) -> JobJson:
    """The job after a cancellation that was accepted, repeated, and came too late for everything else."""
    answer = await api.command(job_id, "cancel", **how)
    assert answer.status_code == 202, answer.text
    job = await api.final(job_id)
    assert job["state"] == "cancelled" and job["error"]["type"] == "Cancelled"
    assert job["finished_at"] and job["lease"] is None and job["next_attempt_at"] is None
    assert all(attempt["outcome"] != "running" for attempt in job["attempts"])
    repeated = await api.command(job_id, "cancel", **how)
    assert repeated.status_code == 202 and repeated.json() == job
    assert problem(await api.patch(job_id, delay="1h"), 409, "wrong-state")["state"] == "cancelled"
    assert problem(await api.command(job_id, "run-now"), 409, "wrong-state")["state"] == "cancelled"
    return job


@pytest.mark.parametrize("mode", ["graceful", "force"])
async def test_while_scheduled(api: Caller, worker: Worker, stage: Stage, mode: str) -> None:
    accepted = await api.submit(delay="1s")
    job = await cancelled(api, accepted["id"], mode=mode, reason="not needed")
    assert job["error"]["message"] == "not needed" and job["attempts"] == []
    later = await api.submit(delay="1s")
    await api.final(later["id"])
    assert stage.attempts(accepted["id"]) == [], "it was due, and did not run"


async def test_while_queued(api: Caller, client: Client, stage: Stage) -> None:
    accepted = await api.submit()
    await api.until(accepted["id"], "queued")
    answer = await api.command(accepted["id"], "cancel")
    assert answer.json()["state"] == "cancelled", "no attempt holds it: at once"
    job = await cancelled(api, accepted["id"])
    assert job["error"]["message"] == "cancelled"
    async with Worker(client, HANDLERS, queues=[api.queue]):
        await api.final((await api.submit())["id"])
    assert stage.attempts(accepted["id"]) == []


async def test_after_a_move(api: Caller) -> None:
    accepted = await api.submit(delay="1h")
    assert (await api.patch(accepted["id"], delay="2h")).status_code == 200
    assert (await cancelled(api, accepted["id"]))["attempts"] == []


@pytest.mark.parametrize("kind", ["gate", "sync-gate"])
async def test_while_running(api: Caller, worker: Worker, stage: Stage, kind: str) -> None:
    accepted = await api.submit(kind, lease="2s")
    seen = await stage.began(accepted["id"])
    job = await cancelled(api, accepted["id"], reason="stop it")
    await asyncio.wait_for(seen.stopped.wait(), 60)
    assert job["error"]["message"] == "stop it"
    (attempt,) = job["attempts"]
    assert (attempt["outcome"], attempt["fencing_token"]) == ("cancelled", seen.token)
    assert attempt["worker"] and attempt["started_at"] and attempt["finished_at"]


async def test_while_running_the_answer_does_not_wait_for_the_handler(
    api: Caller, worker: Worker, stage: Stage
) -> None:
    accepted = await api.submit("stubborn", lease="2s")
    seen = await stage.began(accepted["id"])
    for _ in range(2):
        answer = await api.command(accepted["id"], "cancel", grace="1h")
        assert (answer.status_code, answer.json()["state"]) == (202, "running")
    await asyncio.wait_for(seen.stopped.wait(), 60)
    await stage.release(accepted["id"])
    done = await api.final(accepted["id"])
    assert (done["state"], done["result"]) == ("succeeded", "in its own time"), "it was done all the same"
    assert problem(await api.command(accepted["id"], "cancel"), 409, "wrong-state")["state"] == "succeeded"


async def test_a_grace_that_is_over_ends_the_job(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("stubborn", lease="2s")
    seen = await stage.began(accepted["id"])
    job = await cancelled(api, accepted["id"], grace="1s", reason="enough")
    (attempt,) = job["attempts"]
    assert (attempt["outcome"], attempt["fencing_token"]) == ("cancelled", seen.token)
    assert job["error"]["message"] == "enough"
    await stage.release(accepted["id"])


async def test_by_force_it_ends_at_once(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("stubborn", lease="2s")
    seen = await stage.began(accepted["id"])
    answer = await api.command(accepted["id"], "cancel", mode="force", reason="now")
    assert answer.json()["state"] == "cancelled"
    job = await cancelled(api, accepted["id"])
    (attempt,) = job["attempts"]
    assert (attempt["outcome"], attempt["fencing_token"]) == ("cancelled", seen.token)
    assert attempt["finished_at"] and job["error"]["message"] == "now"
    await asyncio.wait_for(seen.stopped.wait(), 60)  # Told at its next heartbeat.
    await stage.release(accepted["id"])


async def test_in_a_native_back_off_the_attempts_are_kept(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("flaky", payload={"failures": 9}, retry=RETRY_LATER)
    await api.until(accepted["id"], "retrying")
    job = await cancelled(api, accepted["id"], reason="no more")
    (attempt,) = job["attempts"]
    assert (attempt["outcome"], attempt["error"]["message"]) == ("failed", "failure 1")
    assert (job["attempt"], job["error"]["message"]) == (1, "no more")
    assert len(stage.attempts(accepted["id"])) == 1


async def test_in_a_back_off_of_the_workflow_the_attempts_are_kept(
    api: Caller, worker: Worker, stage: Stage
) -> None:
    accepted = await api.submit("stubborn", timeout="1s", retry=RETRY_LATER)
    seen = await stage.began(accepted["id"])
    await asyncio.wait_for(seen.stopped.wait(), 60)
    await stage.release(accepted["id"])
    waiting = await api.until(accepted["id"], "retrying")
    assert [attempt["outcome"] for attempt in waiting["attempts"]] == ["timed_out"]
    job = await cancelled(api, accepted["id"])
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["timed_out"]
    assert job["attempts"] == waiting["attempts"] and job["attempt"] == 1


async def test_after_a_lost_lease_the_attempts_are_kept(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("hung", lease="2s", retry=RETRY_LATER)
    seen = await stage.began(accepted["id"])
    waiting = await api.until(accepted["id"], "retrying")
    (lost,) = waiting["attempts"]
    assert (lost["outcome"], lost["fencing_token"]) == ("lease_lost", seen.token)
    job = await cancelled(api, accepted["id"])
    assert job["attempts"] == waiting["attempts"] and job["attempt"] == 1


async def test_while_snoozing(api: Caller, worker: Worker) -> None:
    accepted = await api.submit("sleepy", payload={"snooze": "1h"})
    await api.until(accepted["id"], "retrying")
    job = await cancelled(api, accepted["id"])
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["snoozed"]


async def test_what_is_finished_stays_as_it_is(api: Caller, worker: Worker) -> None:
    for kind, state in (("echo", "succeeded"), ("reject", "failed")):
        accepted = await api.submit(kind)
        done = await api.final(accepted["id"])
        for _ in range(2):
            refusal = problem(await api.command(accepted["id"], "cancel"), 409, "wrong-state")
            assert refusal["state"] == done["state"] == state and refusal["job"] == done
        assert await api.get(accepted["id"]) == done


async def test_unknown_ids_are_404(api: Caller, job_id: str) -> None:
    problem(await api.command(job_id, "cancel"), 404, "not-found")


async def test_many_at_once_cancel_once(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("gate", lease="2s")
    await stage.began(accepted["id"])
    answers = await asyncio.gather(*(api.command(accepted["id"], "cancel") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert (await api.final(accepted["id"]))["state"] == "cancelled"


BAD: dict[str, tuple[Any, str]] = {
    "mode": ({"mode": "softly"}, "/mode"),
    "grace": ({"grace": "2h"}, "/grace"),
    "negative": ({"grace": -1}, "/grace"),
    "long reason": ({"reason": "r" * 501}, "/reason"),
    "no text": ({"reason": 5}, "/reason"),
    "unknown": ({"resaon": "typo"}, "/resaon"),
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_ways_to_cancel_are_refused_and_do_nothing(api: Caller, name: str) -> None:
    accepted = await api.submit(delay="1h")
    how, pointer = BAD[name]
    assert list(faults(await api.command(accepted["id"], "cancel", **how))) == [pointer]
    assert (await api.get(accepted["id"]))["state"] == "scheduled"
