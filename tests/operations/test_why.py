"""For each reason a job is brought there, `why` is held to it, and what it suggests frees the job.

The reasons that take a server without workers of its own are in test_processes.py, those of concurrency limits in
tests/limits/test_api.py.
"""

import asyncio
import shlex
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import PauseActivityRequest

from duetime.contracts.instants import parse_instant
from duetime.engine import EmbeddedEngine
from duetime.engine.binary import find_binary
from tests.operations.bench import Bench, hold, let_go, until
from tests.operations.processes import as_suggested


def only(why: Any, reason: str) -> Any:
    """The one reason of an answer."""
    (blocked,) = why["blocked"]
    assert blocked["reason"] == reason and blocked["detail"]
    return blocked


async def follow(bench: Bench, why: Any, action: str) -> None:
    """Does what is suggested, as it stands."""
    (suggestion,) = [one for one in why["suggestions"] if one["action"] == action]
    if "command" in suggestion:
        program, *arguments = shlex.split(suggestion["command"])
        assert program == "temporal"
        process = await asyncio.create_subprocess_exec(find_binary(None), *arguments)
        assert await process.wait() == 0
        return
    answer = await bench.http.request(suggestion["method"], suggestion["path"], json=suggestion.get("body"))
    assert answer.is_success, answer.text


async def test_not_due(bench: Bench) -> None:
    job_id = await bench.submit(delay="1h")
    why = await bench.why(job_id)
    only(why, "not_due")
    assert why["state"] == "scheduled" and why["next_change_at"] == (await bench.job(job_id))["due_at"]
    async with bench.worker():
        await follow(bench, why, "run_now")
        await bench.in_state(job_id, "succeeded")


async def test_waiting_on_jobs(bench: Bench) -> None:
    first = await bench.submit(delay="1h")
    second = await bench.submit(after=[first])
    why = await bench.blocked_by(second, "waiting_on_jobs")
    assert only(why, "waiting_on_jobs")["jobs"] == [{"id": first, "state": "scheduled"}]
    assert why["state"] == "waiting" and why["next_change_at"] is None
    async with bench.worker():
        await follow(bench, why, "run_now")
        await bench.in_state(second, "succeeded")


async def test_retry_backoff(bench: Bench) -> None:
    retry = {"initial_interval": "1h", "max_interval": "1h"}
    job_id = await bench.submit(kind="fail", payload={"message": "the disk is full"}, retry=retry)
    async with bench.worker():
        why = await bench.blocked_by(job_id, "retry_backoff")
        blocked = only(why, "retry_backoff")
        assert blocked["attempt"] == 1 and blocked["max_attempts"] == 5
        assert blocked["error"]["message"] == "the disk is full"
        assert why["next_change_at"] == (await bench.job(job_id))["next_attempt_at"]
        await follow(bench, why, "run_now")
        await until(lambda: bench.job(job_id), lambda job: len(job["attempts"]) == 2)


async def test_retry_backoff_of_a_snooze(bench: Bench) -> None:
    job_id = await bench.submit(kind="later")
    async with bench.worker():
        why = await bench.blocked_by(job_id, "retry_backoff")
        assert "snoozed" in only(why, "retry_backoff")["detail"]
        await follow(bench, why, "run_now")
        await until(lambda: bench.job(job_id), lambda job: len(job["attempts"]) == 2)


async def test_queue_paused(bench: Bench) -> None:
    await bench.post(f"/v1/queues/{bench.queue}:pause", {"reason": "the mail server moves", "by": "alice"})
    async with bench.worker():
        await until(bench.view, lambda view: view["workers"])
        job_id = await bench.submit()
        why = await bench.blocked_by(job_id, "queue_paused")
        blocked = only(why, "queue_paused")
        assert (blocked["said"], blocked["by"]) == ("the mail server moves", "alice")
        assert blocked["since"] == (await bench.view())["pause"]["since"]
        await follow(bench, why, "resume_queue")
        await bench.in_state(job_id, "succeeded")


async def test_job_paused(bench: Bench) -> None:
    job_id = await bench.submit()
    await bench.backlog(queued=1)
    await bench.client.workflow_service.pause_activity(
        PauseActivityRequest(
            namespace=bench.client.namespace,
            execution=WorkflowExecution(workflow_id=job_id),
            id="1",
            identity="somebody",
        )
    )
    await bench.backlog(paused=1)
    async with bench.worker():
        await until(bench.view, lambda view: view["workers"])
        why = await bench.blocked_by(job_id, "job_paused")
        only(why, "job_paused")
        await follow(bench, why, "unpause")
        await bench.in_state(job_id, "succeeded")


async def test_no_worker(bench: Bench, engine: EmbeddedEngine) -> None:
    job_id = await bench.submit()
    await bench.backlog(queued=1)
    why = await bench.blocked_by(job_id, "no_worker")
    blocked = only(why, "no_worker")
    assert blocked["queue"] == bench.queue and blocked["workers"] == 0
    (suggestion,) = why["suggestions"]
    assert suggestion["command"] == f"python worker.py --queues {bench.queue}"
    async with as_suggested(engine, suggestion["command"]):
        await bench.in_state(job_id, "succeeded")


async def test_no_worker_for_a_command(bench: Bench, engine: EmbeddedEngine) -> None:
    """Which a worker runs only when it is told that it may."""
    job_id = await bench.submit(kind="command", payload={"argv": ["true"]})
    why = await bench.blocked_by(job_id, "no_worker")
    (suggestion,) = why["suggestions"]
    async with as_suggested(engine, suggestion["command"]):
        await bench.in_state(job_id, "succeeded")


async def test_two_reasons_at_once_are_both_told(bench: Bench) -> None:
    await bench.post(f"/v1/queues/{bench.queue}:pause", {"reason": "first this"})
    job_id = await bench.submit()
    await bench.backlog(paused=1)
    why = await bench.blocked_by(job_id, "queue_paused", "no_worker")
    assert [one["action"] for one in why["suggestions"]] == ["resume_queue", "start_worker"]


async def test_no_handler(bench: Bench, engine: EmbeddedEngine) -> None:
    job_id = await bench.submit()
    async with bench.worker(hold):
        why = await bench.blocked_by(job_id, "no_handler")
        blocked = only(why, "no_handler")
        assert blocked["kind"] == "quick" and bench.queue not in blocked["announced_on"]
        assert why["state"] == "retrying" and why["next_change_at"] is not None
        (suggestion,) = why["suggestions"]
        assert suggestion["command"] == f"python worker.py --queues {bench.queue} --handlers my_app.handlers"
        view = await until(bench.view, lambda seen: seen["health"] == "no_handler")
        assert (
            view["verdict"] == "1 job waits for a worker that has a handler for 'quick'; 1 worker serves it"
        )
    async with as_suggested(engine, suggestion["command"]):
        await bench.in_state(job_id, "succeeded")
    assert (await bench.job(job_id))["attempt"] == 1


async def test_workers_full(bench: Bench, engine: EmbeddedEngine) -> None:
    held = await bench.submit(kind="hold")
    async with bench.worker(concurrency=1):
        await bench.in_state(held, "running")
        job_id = await bench.submit()
        # This worker tells of its slots only once a minute, so it counts as full when a job has waited a while.
        why = await bench.blocked_by(job_id, "workers_full")
        blocked = only(why, "workers_full")
        assert blocked["workers"] == 1 and blocked["queue"] == bench.queue
        view = await bench.view()
        assert view["health"] == "workers_full" and "1 worker" in view["verdict"]
        assert {one["action"] for one in why["suggestions"]} == {"start_worker", "raise_priority"}
        await follow(bench, why, "raise_priority")
        assert (await bench.job(job_id))["priority"] == 1
        (start,) = [one["command"] for one in why["suggestions"] if one["action"] == "start_worker"]
        async with as_suggested(engine, start):
            await bench.in_state(job_id, "succeeded")
        let_go(held)
        await bench.in_state(held, "succeeded")


async def test_rate_limited(bench: Bench) -> None:
    body = {"per_second": 0.01, "reason": "the partner asks for it", "by": "bob"}
    assert (await bench.http.put(f"/v1/queues/{bench.queue}/rate", json=body)).is_success
    jobs = [await bench.submit() for _ in range(4)]
    async with bench.worker():

        async def limited() -> Any:
            for job_id in jobs:
                why = await bench.why(job_id)
                if [one["reason"] for one in why["blocked"]] == ["rate_limited"]:
                    return why
            return None

        why = await until(limited)
        blocked = only(why, "rate_limited")
        assert blocked["per_second"] == pytest.approx(0.01)
        assert (blocked["said"], blocked["by"]) == ("the partner asks for it", "bob")
        await follow(bench, why, "lift_rate")
        for job_id in jobs:
            await bench.in_state(job_id, "succeeded")


async def test_running(bench: Bench) -> None:
    job_id = await bench.submit(kind="hold", timeout="1h", deadline="10m")
    async with bench.worker():
        job = await bench.in_state(job_id, "running")
        why = await bench.why(job_id)
        blocked = only(why, "running")
        assert blocked["worker"] == job["lease"]["worker"] and blocked["since"] == job["lease"]["acquired_at"]
        deadline = parse_instant(job["due_at"]) + timedelta(minutes=10)
        assert parse_instant(why["next_change_at"]) == deadline
        await follow(bench, why, "cancel")
        await bench.in_state(job_id, "cancelled")


@pytest.mark.parametrize(("kind", "state"), [("quick", "succeeded"), ("fail", "failed")])
async def test_final(bench: Bench, kind: str, state: str) -> None:
    job_id = await bench.submit(kind=kind, retry={"max_attempts": 1})
    async with bench.worker():
        job = await bench.in_state(job_id, state)
        why = await bench.why(job_id)
        assert only(why, "final")["since"] == job["finished_at"]
        assert why["state"] == state and why["next_change_at"] is None
        await follow(bench, why, "redrive")
        await until(lambda: bench.job(job_id), lambda again: again["run_id"] != job["run_id"])


async def test_a_job_of_a_pipeline_is_run_again_with_that(bench: Bench) -> None:
    pipeline = f"{bench.queue}-line"
    once = {"queue": bench.queue, "retry": {"max_attempts": 1}}
    jobs = {"good": {"kind": "quick", **once}, "bad": {"kind": "fail", "needs": ["good"], **once}}
    async with bench.worker():
        await bench.post("/v1/pipelines", {"id": pipeline, "jobs": jobs})
        before = await until(
            lambda: bench.get(f"/v1/pipelines/{pipeline}"), lambda whole: whole["state"] == "failed"
        )
        await follow(bench, await bench.why(f"{pipeline}~bad"), "redrive")
        await until(
            lambda: bench.get(f"/v1/pipelines/{pipeline}"), lambda whole: whole["run_id"] != before["run_id"]
        )
        assert (await bench.why(f"{pipeline}~good"))["suggestions"] == []


async def test_a_wait_for_a_worker_that_ends_by_itself_says_when(bench: Bench) -> None:
    job_id = await bench.submit(queue_timeout="30m")
    await bench.backlog(queued=1)
    why = await bench.blocked_by(job_id, "no_worker")
    due = parse_instant((await bench.job(job_id))["due_at"])
    assert timedelta(minutes=29) < parse_instant(why["next_change_at"]) - due < timedelta(minutes=31)


async def test_nobody_knows_it(bench: Bench) -> None:
    assert (await bench.http.get("/v1/jobs/never-was/why")).status_code == 404
