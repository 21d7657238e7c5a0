"""Handlers in other languages, as the API tells of their jobs: every attempt is listed, those too that the server
retries by itself."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from duetime.contracts.record import Attempt, Error, Record
from duetime.contracts.states import AttemptOutcome
from duetime.jobs.unrecorded import with_failures
from tests.api.caller import Caller, JobJson

QUICK = {"initial_interval": "1s", "jitter": 0}
LATER = {"initial_interval": "1h", "max_interval": "1h", "jitter": 0}


@activity.defn(name="abroad")
async def abroad(payload: dict[str, Any], job: dict[str, Any]) -> int:
    """Fails so many times; then returns the server's count, or does not end."""
    tries = activity.info().attempt
    if tries <= payload["failures"]:
        raise LookupError(f"failure {tries}")
    while payload.get("hangs"):
        activity.heartbeat()
        await asyncio.sleep(0.1)
    return tries


@pytest.fixture
async def elsewhere(api: Caller, client: Client) -> AsyncIterator[None]:
    """A worker that knows nothing of Duetime, on the test's own queue."""
    async with Worker(client, task_queue=api.queue, activities=[abroad]):
        yield


def told(job: JobJson) -> list[tuple[int, str, str | None]]:
    return [
        (attempt["number"], attempt["outcome"], (attempt["error"] or {}).get("message"))
        for attempt in job["attempts"]
    ]


@pytest.mark.usefixtures("elsewhere")
async def test_failures_are_listed_while_the_server_retries(api: Caller) -> None:
    accepted = await api.submit("abroad", payload={"failures": 9}, retry=LATER)
    job = await api.until(accepted["id"], "retrying")
    assert told(job) == [(1, "failed", "failure 1")]
    assert (job["attempt"], job["error"]["type"], job["lease"]) == (1, "LookupError", None)
    assert (await api.command(accepted["id"], "cancel")).status_code == 202
    ended = await api.get(accepted["id"])
    assert (ended["state"], told(ended)) == ("cancelled", [(1, "failed", "failure 1")])


@pytest.mark.usefixtures("elsewhere")
async def test_they_stay_listed_while_another_attempt_runs_and_when_it_is_cancelled(api: Caller) -> None:
    accepted = await api.submit("abroad", payload={"failures": 2, "hangs": True}, retry=QUICK, lease="2s")
    job = await api.until(accepted["id"], lambda job: job["state"] == "running" and job["attempt"] == 3)
    listed = [(1, "failed", None), (2, "failed", "failure 2")]
    assert told(job) == [*listed, (3, "running", None)]
    assert (
        job["attempts"][2]["worker"] and job["lease"]["fencing_token"] == job["attempts"][2]["fencing_token"]
    )
    assert (await api.command(accepted["id"], "cancel")).status_code == 202
    ended = await api.final(accepted["id"])
    assert (ended["state"], told(ended)) == ("cancelled", [*listed, (3, "cancelled", None)])


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("failures", "state"), [(2, "succeeded"), (9, "failed")])
async def test_they_stay_listed_after_the_end(api: Caller, failures: int, state: str) -> None:
    """As far as the server's history goes: how many there were, what the last of them said, who had the last one."""
    retry = QUICK | {"max_attempts": 3}
    job = await api.final((await api.submit("abroad", payload={"failures": failures}, retry=retry))["id"])
    last = (3, state, None if state == "succeeded" else "failure 3")
    assert (job["state"], told(job)) == (state, [(1, "failed", None), (2, "failed", "failure 2"), last])
    assert job["attempt"] == job["max_attempts"] == 3
    assert job["attempts"][2]["worker"] and job["attempts"][2]["fencing_token"]
    assert job["started_at"] == job["attempts"][2]["started_at"]


def test_what_a_record_tells_is_not_told_again() -> None:
    """Ours: the server counts the same attempts, those given back and those of earlier dispatches aside."""
    mine = Record(attempts=[Attempt(number=n, dispatch="1", outcome=AttemptOutcome.FAILED) for n in (1, 2)])
    error = Error(type="E", message="m")
    for failures in (0, 1, 2):
        assert with_failures(mine, "1", failures, error) == mine
    more = with_failures(mine, "1", 4, error)
    assert [(a.number, a.error) for a in more.attempts] == [(1, None), (2, None), (3, None), (4, error)]
    other = with_failures(mine, "2", 1, error)
    assert [(a.number, a.dispatch) for a in other.attempts] == [(1, "1"), (2, "1"), (3, "2")]
    assert other.used == 3, "a failure costs an attempt, whoever counts it"
