"""Jobs that come after others: they start when all have succeeded, and end when one has not."""

import asyncio
import itertools
import os
from datetime import timedelta
from typing import Any

import pytest

from activities import predecessors
from duetime.worker import Worker
from tests.api.caller import Caller, JobJson, faults, problem
from tests.api.stage import Stage

#: `DUETIME_LONG_CHAIN=200` for a long one.
CHAIN = int(os.environ.get("DUETIME_LONG_CHAIN", "12"))
ONCE = {"max_attempts": 1}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks a second time: what a job is not told it never learns."""
    monkeypatch.setattr(predecessors, "look_again_after", lambda looks: timedelta(hours=1))


def not_run(job: JobJson, predecessor: str, state: str) -> None:
    """It ended because `predecessor` did not succeed, and nothing was done for it."""
    assert (job["state"], job["error"]["type"]) == ("failed", "DependencyFailed"), job
    assert repr(predecessor) in job["error"]["message"] and job["error"]["message"].endswith(state)
    assert (job["attempts"], job["attempt"], job["started_at"]) == ([], 0, None)


@pytest.mark.timeout(120 + CHAIN)
@pytest.mark.usefixtures("told")
async def test_a_chain_runs_link_by_link(api: Caller, worker: Worker, stage: Stage) -> None:
    """All of it is accepted before its first job has ended, and nothing starts before its turn."""
    ids = [(await api.submit("gate"))["id"]]
    await stage.began(ids[0])
    for _ in range(CHAIN - 1):
        job = await api.submit("echo", after=ids[-1:])
        assert job["state"] == "waiting"
        ids.append(job["id"])
        assert (await api.get(job["id"]))["state"] == "waiting", "also before anybody has looked"
    await stage.release(ids[0])
    jobs = [await api.final(job_id) for job_id in ids]
    assert [job["state"] for job in jobs] == ["succeeded"] * CHAIN
    assert [len(stage.attempts(job_id)) for job_id in ids] == [1] * CHAIN
    for before, after in itertools.pairwise(jobs):
        # It tells of its end before the server has closed it, a moment later.
        assert before["attempts"][-1]["finished_at"] <= after["started_at"]


@pytest.mark.timeout(120 + CHAIN)
@pytest.mark.usefixtures("told")
async def test_a_chain_whose_first_link_breaks_ends_to_the_last(
    api: Caller, worker: Worker, stage: Stage
) -> None:
    ids = [(await api.submit("gate", retry=ONCE))["id"]]
    await stage.began(ids[0])
    for _ in range(CHAIN - 1):
        ids.append((await api.submit("echo", after=ids[-1:]))["id"])
    assert (await api.command(ids[0], "cancel", mode="force")).status_code == 202
    states = ["cancelled", *["failed"] * (CHAIN - 2)]
    for before, job_id, state in zip(ids, ids[1:], states, strict=False):
        not_run(await api.final(job_id), before, state)
        assert stage.attempts(job_id) == []


@pytest.mark.usefixtures("told")
async def test_many_before_one(api: Caller, worker: Worker, stage: Stage) -> None:
    """As many as may be named, of which the last to end is the first named."""
    slow = (await api.submit("gate"))["id"]
    others = await asyncio.gather(*(api.submit("echo") for _ in range(99)))
    last = await api.submit("echo", after=[slow, *(job["id"] for job in others)])
    ended = await asyncio.gather(*(api.final(job["id"]) for job in others))
    assert {job["state"] for job in ended} == {"succeeded"}
    assert (await api.get(last["id"]))["state"] == "waiting"
    await stage.release(slow)
    done = await api.final(last["id"])
    assert done["state"] == "succeeded"
    # It tells those that wait just before it ends.
    assert done["started_at"] >= (await api.get(slow))["attempts"][-1]["finished_at"]


async def test_what_has_succeeded_before_is_not_waited_for(api: Caller, worker: Worker) -> None:
    first = await api.final((await api.submit("echo"))["id"])
    done = await api.final((await api.submit("echo", after=[first["id"], first["id"]]))["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1)


async def ended(api: Caller, how: str) -> JobJson:
    """A job that ended so."""
    fields: dict[str, Any] = {"failed": {"retry": ONCE}, "expired": {"deadline": "1s"}}.get(
        how, {"delay": "1h"}
    )
    kind = {"failed": "flaky", "expired": "nobody.serves-this"}.get(how, "echo")
    job_id = (await api.submit(kind, **fields))["id"]
    if how == "cancelled":
        await api.command(job_id, "cancel")
    job = await api.final(job_id)
    assert job["state"] == how
    return job


@pytest.mark.parametrize("how", ["failed", "cancelled", "expired"])
async def test_what_has_not_succeeded_before_fails_it_at_once(
    api: Caller, worker: Worker, stage: Stage, how: str
) -> None:
    first = await ended(api, how)
    second = await api.submit("echo", after=[first["id"]])
    not_run(await api.final(second["id"]), first["id"], how)
    assert stage.attempts(second["id"]) == []


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("mode", ["graceful", "force"])
@pytest.mark.parametrize("kind", ["echo", "gate"])
async def test_who_is_cancelled_tells_those_that_wait(
    api: Caller, worker: Worker, stage: Stage, kind: str, mode: str
) -> None:
    """Scheduled or running; ended by itself or from outside, which runs no code of its own."""
    first = await api.submit(kind, **({"delay": "1h"} if kind == "echo" else {}))
    if kind == "gate":
        await stage.began(first["id"])
    second = await api.submit("echo", after=[first["id"]])
    await api.until(second["id"], "waiting")
    assert (await api.command(first["id"], "cancel", mode=mode)).status_code == 202
    not_run(await api.final(second["id"]), first["id"], "cancelled")


@pytest.mark.usefixtures("told")
async def test_who_exhausts_its_attempts_tells_those_that_wait(api: Caller, worker: Worker) -> None:
    first = await api.submit("flaky", payload={"failures": 9}, retry={"max_attempts": 2, "jitter": 0})
    second = await api.submit("echo", after=[first["id"]])
    not_run(await api.final(second["id"]), first["id"], "failed")
    assert len((await api.get(first["id"]))["attempts"]) == 2, "it failed once all its attempts had"


@pytest.mark.usefixtures("told")
async def test_a_retry_of_the_first_keeps_the_second_waiting(api: Caller, worker: Worker) -> None:
    first = await api.submit("flaky", retry={"max_attempts": 2, "jitter": 0})
    second = await api.submit("echo", after=[first["id"]])
    done = await api.final(second["id"])
    assert done["state"] == "succeeded"
    assert [attempt["outcome"] for attempt in (await api.get(first["id"]))["attempts"]] == [
        "failed",
        "succeeded",
    ]


async def test_one_that_is_redriven_is_waited_for_again(api: Caller, worker: Worker, stage: Stage) -> None:
    """What counts is how its newest run ends."""
    first = (await api.submit("gate"))["id"]
    await stage.began(first)
    await api.command(first, "cancel", mode="force")
    lost = await api.submit("echo", after=[first])
    not_run(await api.final(lost["id"]), first, "cancelled")
    assert (await api.command(first, "retry")).status_code == 200
    await stage.began(first, 2)
    second = await api.submit("echo", after=[first])
    assert (await api.until(second["id"], "waiting"))["attempts"] == []
    await stage.release(first)
    assert (await api.final(second["id"]))["state"] == "succeeded"
    # The one that had ended already is nobody's business any more, until somebody redrives it too.
    assert (await api.get(lost["id"]))["state"] == "failed"
    assert (await api.command(lost["id"], "retry")).status_code == 200
    assert (await api.final(lost["id"]))["state"] == "succeeded"


async def test_one_that_is_replaced_is_waited_for_in_the_job_that_has_its_id(
    api: Caller, worker: Worker, stage: Stage, job_id: str
) -> None:
    """The id is what it comes after. Nobody tells it of the replacement: it finds out by asking."""
    await api.submit("echo", id=job_id, delay="1h")
    second = await api.submit("echo", after=[job_id])
    await api.until(second["id"], "waiting")
    await api.submit("gate", id=job_id, on_conflict="replace")
    await stage.began(job_id)
    assert (await api.get(second["id"]))["state"] == "waiting"
    await stage.release(job_id)
    done = await api.final(second["id"])
    assert done["state"] == "succeeded"
    assert done["started_at"] >= (await api.get(job_id))["attempts"][-1]["finished_at"]


async def test_a_job_that_waits_may_end_first(api: Caller, worker: Worker, stage: Stage) -> None:
    first = (await api.submit("gate"))["id"]
    await stage.began(first)
    cancelled = await api.submit("echo", after=[first])
    expired = await api.submit("echo", after=[first], deadline="1s")
    await api.until(cancelled["id"], "waiting")
    assert (await api.command(cancelled["id"], "cancel")).json()["state"] == "cancelled"
    assert (await api.final(expired["id"]))["state"] == "expired"
    await stage.release(first)
    assert (await api.final(first))["state"] == "succeeded"
    assert stage.attempts(cancelled["id"]) == stage.attempts(expired["id"]) == []


async def test_both_must_hold_the_time_and_the_others(api: Caller, worker: Worker, stage: Stage) -> None:
    first = (await api.submit("echo"))["id"]
    await api.final(first)
    second = await api.submit("echo", after=[first], delay="2s")
    assert second["state"] == "scheduled"
    done = await api.final(second["id"])
    assert done["state"] == "succeeded" and done["started_at"] >= done["due_at"]


async def test_an_id_that_nobody_knows_is_refused_with_its_place(
    api: Caller, worker: Worker, stage: Stage, job_id: str
) -> None:
    known = (await api.submit("echo"))["id"]
    body = {
        "kind": "echo",
        "queue": api.queue,
        "id": job_id,
        "after": [known, "nobody-1", job_id, "nobody-2"],
    }
    found = faults(await api.post(body))
    assert set(found) == {"/after/1", "/after/2", "/after/3"}
    assert "nobody-1" in found["/after/1"] and "itself" in found["/after/2"]
    problem(await api.http.get(f"/v1/jobs/{job_id}"), 404, "not-found")
    assert faults(await api.post({"kind": "echo", "after": [f"job-{n}" for n in range(101)]})) == {
        "/after": faults(await api.post({"kind": "echo", "after": ["x"] * 101}))["/after"]
    }
