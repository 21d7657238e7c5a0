"""Redrives and cancellations of pipelines."""

import asyncio
from typing import Any

from temporalio.client import Client

from duetime.worker import Worker
from tests.api.caller import Caller, problem
from tests.api.stage import Stage
from tests.pipelines_api.conftest import Pipelines, states
from tests.pipelines_api.handlers import Plan
from tests.support.waiting import eventually

FAILING = {"s07", "s13", "s21"}


def thirty() -> dict[str, Any]:
    """Ten chains of three: `s00` → `s10` → `s20`, and so on."""
    return {
        f"s{number:02}": {"kind": "step", "needs": [f"s{number - 10:02}"] if number >= 10 else []}
        for number in range(30)
    }


async def test_only_what_failed_and_what_hangs_on_it_runs_again(
    pipelines: Pipelines, client: Client, api: Caller
) -> None:
    plan = Plan()
    plan.failing = set(FAILING)
    async with Worker(client, [plan.handler("step")], queues=[pipelines.queue]):
        own = (await pipelines.submit(thirty()))["id"]
        ended = await pipelines.final(own)
        hurt = {"s17", "s27", "s23"}
        assert ended["state"] == "failed"
        assert {name for name, state in states(ended).items() if state == "failed"} == FAILING
        assert {name for name, state in states(ended).items() if state == "skipped"} == hurt
        assert ended["counts"] == {"succeeded": 24, "failed": 3, "skipped": 3}
        assert ended["jobs"]["s07"]["error"]["message"] == "s07 was to fail"
        assert ended["jobs"]["s27"]["reason"] == "upstream_failed"
        assert sorted(plan.ran) == sorted({*thirty()} - hurt)
        kept = await api.get(f"{own}~s00")
        failed = await api.get(f"{own}~s07")

        refused = problem(await api.command(f"{own}~s07", "retry"), 409, "wrong-state")
        assert refused["pipeline_id"] == own
        assert f"/v1/pipelines/{own}:retry" in refused["detail"]

        plan.failing.clear()
        plan.ran.clear()
        both = await asyncio.gather(*(pipelines.command(own, "retry") for _ in range(2)))
        assert {answer.status_code for answer in both} <= {200, 409}
        runs = {answer.json()["run_id"] for answer in both if answer.status_code == 200}
        assert len(runs) == 1, "two at once make one run"
        told = [states(answer.json()) for answer in both if answer.status_code == 200]
        assert all(now["s00"] == "succeeded" for now in told), "what it keeps, before a worker has looked"
        assert runs != {ended["run_id"]}
        again = await pipelines.final(own)
        assert sorted(plan.ran) == sorted(FAILING | hurt)
        assert again["state"] == "succeeded"
        assert again["counts"] == {"succeeded": 30}
        assert again["run_id"] in runs
        assert (await api.get(f"{own}~s00"))["run_id"] == kept["run_id"], "it was not run again"
        redriven = await api.get(f"{own}~s07")
        assert redriven["attempts"][0]["fencing_token"] > failed["attempts"][0]["fencing_token"]
        on_path = {step["name"] for step in again["critical_path"]["jobs"]}
        assert on_path <= FAILING | hurt

    problem(await pipelines.command(own, "retry"), 409, "wrong-state")


async def test_what_cannot_be_redriven_says_why(pipelines: Pipelines, serving: Stage) -> None:
    own = (await pipelines.submit({"a": {"kind": "gate"}}))["id"]
    refused = problem(await pipelines.command(own, "retry"), 409, "wrong-state")
    assert "still open" in refused["detail"]
    assert refused["pipeline"]["id"] == own
    await serving.release(f"{own}~a")
    ended = await pipelines.final(own)
    refused = problem(await pipelines.command(own, "retry"), 409, "wrong-state")
    assert "succeeded" in refused["detail"]
    refused = problem(await pipelines.command(own, "retry", run_id="another"), 409, "wrong-state")
    assert ended["run_id"] in refused["detail"]
    assert "/force" in (await pipelines.command(own, "retry", force=True)).text


async def test_a_cancellation_ends_the_jobs_too_and_lets_them_clean_up(
    pipelines: Pipelines, api: Caller, serving: Stage
) -> None:
    jobs = {
        "a": {"kind": "gate"},
        "b": {"needs": ["a"]},
        "clean": {"needs": ["a"], "when": "always"},
    }
    own = (await pipelines.submit(jobs))["id"]
    seen = await serving.began(f"{own}~a")
    answer = await pipelines.command(own, "cancel", reason="not today", grace="10s")
    assert answer.status_code == 202, answer.text
    ended = await pipelines.final(own)
    assert seen.stopped.is_set()
    assert ended["state"] == "cancelled"
    assert ended["error"]["message"] == "not today"
    assert states(ended) == {"a": "cancelled", "b": "skipped", "clean": "succeeded"}
    assert (ended["halt"], ended["jobs"]["b"]["reason"]) == ("cancelled", "halted")
    assert (await api.get(f"{own}~a"))["state"] == "cancelled"
    assert (await pipelines.command(own, "cancel")).status_code == 202, "a repeat is no mistake"

    again = await pipelines.command(own, "retry")
    assert again.status_code == 200, again.text
    await serving.release(f"{own}~a")
    assert (await pipelines.final(own))["state"] == "succeeded"
    problem(await pipelines.command(own, "cancel"), 409, "wrong-state")


async def test_by_force_running_jobs_end_at_once(pipelines: Pipelines, api: Caller, serving: Stage) -> None:
    await _forced(pipelines, api, "running")


async def test_by_force_queued_jobs_end_at_once(pipelines: Pipelines, api: Caller) -> None:
    await _forced(pipelines, api, "queued")


async def _forced(pipelines: Pipelines, api: Caller, state: str) -> None:
    jobs = {
        "a": {"kind": "gate"},
        "each": {"kind": "gate", "for_each": [1, 2], "payload": {"n": {"$item": ""}}},
        "b": {"needs": ["a"]},
        "clean": {"needs": ["a"], "when": "always"},
    }
    own = (await pipelines.submit(jobs))["id"]
    await pipelines.until(own, lambda now: now["jobs"]["a"]["state"] == state)
    await pipelines.until(own, lambda now: (now["jobs"]["each"]["items"] or {}).get("running") == 2)
    for name in ("a", "each~0", "each~1"):
        await eventually(lambda name=name: begun(pipelines, f"{own}~{name}"))  # it is counted just before
        await api.until(f"{own}~{name}", state)
    answer = await pipelines.command(own, "cancel", mode="force", reason="now")
    assert answer.status_code == 202, answer.text
    assert answer.json()["state"] == "cancelled" or answer.json()["halt"] == "forced"
    ended = await pipelines.final(own)
    assert (ended["state"], ended["error"]["message"]) == ("cancelled", "now")
    assert states(ended) == {"a": "cancelled", "each": "cancelled", "b": "skipped", "clean": "skipped"}
    for name in ("a", "each~0", "each~1"):
        assert (await api.get(f"{own}~{name}"))["state"] == "cancelled"


async def begun(pipelines: Pipelines, job_id: str) -> bool:
    return (await pipelines.http.get(f"/v1/jobs/{job_id}")).status_code == 200


async def test_items_that_are_done_stay_done(pipelines: Pipelines, serving: Stage) -> None:
    each = {"kind": "gate", "for_each": ["x", "y", "z"], "payload": {"n": {"$item": ""}}}
    own = (await pipelines.submit({"each": each}))["id"]
    for item in range(3):
        await serving.began(f"{own}~each~{item}")
    await serving.release(f"{own}~each~1")
    now = await pipelines.until(own, lambda now: (now["jobs"]["each"]["items"] or {}).get("done") == 1)
    assert now["jobs"]["each"]["state"] == "running"
    assert (await pipelines.command(own, "cancel", mode="force")).status_code == 202
    assert (await pipelines.final(own))["state"] == "cancelled"
    assert (await pipelines.command(own, "retry")).status_code == 200
    for item in (0, 2):
        await serving.began(f"{own}~each~{item}", attempt=2)
        await serving.release(f"{own}~each~{item}")
    ended = await pipelines.final(own)
    assert ended["state"] == "succeeded"
    assert [len(serving.attempts(f"{own}~each~{item}")) for item in range(3)] == [2, 1, 2]
