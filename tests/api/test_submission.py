"""Submitting a job and reading it back."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client

from duetime.worker import Worker
from tests.api.caller import Caller
from tests.api.stage import HANDLERS, PATIENCE, Stage


def instant(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


async def test_a_job_due_in_a_second_waits_and_then_runs(api: Caller, worker: Worker, stage: Stage) -> None:
    answer = await api.post({"kind": "echo", "queue": api.queue, "payload": {"a": 1}, "delay": "1s"})
    accepted = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/jobs/{accepted['id']}" == accepted["links"]["self"]
    assert accepted["state"] == "scheduled"
    assert instant(accepted["due_at"]) - instant(accepted["created_at"]) == timedelta(seconds=1)
    job = (await api.http.get(answer.headers["location"])).json()
    assert (job["run_id"], job["due_at"]) == (accepted["run_id"], accepted["due_at"])
    done = await api.final(accepted["id"])
    assert (done["state"], done["result"], done["error"]) == ("succeeded", {"a": 1}, None)
    assert instant(done["started_at"]) >= instant(done["due_at"]), "it started before it was due"
    assert instant(done["finished_at"]) >= instant(done["started_at"])
    assert done["late_by"] is not None and done["attempt"] == 1
    (attempt,) = done["attempts"]
    (seen,) = stage.attempts(accepted["id"])
    assert attempt["outcome"] == "succeeded" and attempt["number"] == 1
    assert attempt["fencing_token"] == seen.token
    assert attempt["started_at"] == done["started_at"]


async def test_only_the_kind_is_needed(api: Caller) -> None:
    answer = await api.post({"kind": "nobody.serves-this", "delay": "1h"})
    job = await api.get(answer.json()["id"])
    assert answer.status_code == 201
    shown = {name: job[name] for name in ("queue", "priority", "max_attempts", "payload", "tags", "attempts")}
    assert shown == {
        "queue": "default",
        "priority": 3,
        "max_attempts": 5,
        "payload": {},
        "tags": [],
        "attempts": [],
    }
    for name in (
        "started_at",
        "finished_at",
        "late_by",
        "lease",
        "result",
        "error",
        "checkpoint",
        "progress",
    ):
        assert job[name] is None, name


async def test_a_job_for_now_is_queued_until_a_worker_comes(api: Caller) -> None:
    accepted = await api.submit()
    assert accepted["state"] == "queued"
    job = await api.until(accepted["id"], "queued")
    assert job["late_by"] is not None and job["attempt"] == 0 and job["lease"] is None


async def test_what_looks_wrong_is_accepted_and_warned_of(api: Caller, client: Client) -> None:
    unknown = await api.submit("nobody.serves-this", delay="1h")
    assert ["nobody.serves-this" in warning for warning in unknown["warnings"]].count(True) == 1
    assert any(api.queue in warning and "no_active_workers" in warning for warning in unknown["warnings"])
    async with Worker(client, HANDLERS, queues=[api.queue]), asyncio.timeout(PATIENCE):
        while (await api.submit("echo", delay="1h"))["warnings"]:  # noqa: ASYNC110
            await asyncio.sleep(0.2)  # What is known of kinds and queues is some seconds old.


async def test_generated_ids_sort_by_time(api: Caller) -> None:
    first = await api.submit(delay="1h")
    second = await api.submit(delay="1h")
    assert first["id"][:10] <= second["id"][:10] and first["id"] != second["id"]


PAST = {"a second": timedelta(seconds=1), "an hour": timedelta(hours=1), "ten years": timedelta(days=3650)}


@pytest.mark.parametrize("ago", PAST.values(), ids=PAST)
async def test_a_time_in_the_past_is_now_and_the_answer_says_how_late(
    api: Caller, worker: Worker, ago: timedelta
) -> None:
    due = datetime.now(UTC) - ago
    accepted = await api.submit(run_at=due.isoformat())
    assert accepted["state"] == "queued" and accepted["late_by"] is not None
    assert instant(accepted["due_at"]) == due
    done = await api.final(accepted["id"])
    assert done["state"] == "succeeded" and len(done["attempts"]) == 1
    assert instant(done["due_at"]) == due


async def test_run_at_in_a_zone_and_with_an_offset_are_the_same_instant(api: Caller) -> None:
    wall = {"run_at": "2027-07-15T09:00:00", "timezone": "Europe/Paris"}
    for fields in (wall, {"run_at": "2027-07-15T09:00:00+02:00"}, {"run_at": "2027-07-15T21:00:00+14:00"}):
        job = await api.submit(**fields)
        assert job["due_at"] == "2027-07-15T07:00:00Z"
        assert (await api.get(job["id"]))["due_at"] == "2027-07-15T07:00:00Z"


async def test_spread_moves_one_id_always_by_the_same_part(api: Caller, job_id: str) -> None:
    spread = {"id": job_id, "run_at": "2027-07-15T09:00:00Z", "spread": "1h"}
    first = await api.submit(**spread)
    offset = instant(first["due_at"]) - instant("2027-07-15T09:00:00Z")
    assert timedelta(0) <= offset < timedelta(hours=1)
    again = await api.submit(**spread, on_conflict="replace")
    assert again["due_at"] == first["due_at"] == (await api.get(job_id))["due_at"]
    others = [await api.submit(run_at="2027-07-15T09:00:00Z", spread="1h") for _ in range(3)]
    assert len({job["due_at"] for job in (first, *others)}) > 1


EXACT: dict[str, Any] = {
    "nested": {"list": [1, [2, {"three": None}]], "empty": {}, "none": []},
    "text": 'emoji 😀, NUL \x00, quotes " \\, literal \\u0000, RTL \u202e, \x7f\u2028 line',
    "keys": {"": 1, "😀": 2, "a/b~c": 3, "\x00": 4, "$result": 5, "$duetime": 6, "constructor": 7},
    "integers": [0, -1, 2**53 + 1, -(2**63), 2**64, 10**100, 10**4000],
    "floats": [0.1, -0.0, 1.0, 1e22, 5e-324, 1.7976931348623157e308, 3.141592653589793],
    "words": [True, False, None, "true", "null", "NaN"],
    "times": ["2027-01-15T09:00:00+01:00", "PT5M"],
}


@pytest.mark.parametrize("name", EXACT)
async def test_payload_and_result_come_back_exactly(
    api: Caller, worker: Worker, stage: Stage, name: str
) -> None:
    payload = {"value": EXACT[name]}
    accepted = await api.submit("echo", payload=payload)
    done = await api.final(accepted["id"])
    (seen,) = stage.attempts(accepted["id"])
    for copy in (accepted["payload"], done["payload"], done["result"], seen.payload):
        assert repr(copy) == repr(payload)
