"""On a server where nobody runs anything until a test starts it: workers come, die, and are told by name."""

import asyncio
import signal
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from api.queues.lanes import read_lane
from duetime.connection import connect
from duetime.engine import EmbeddedEngine
from duetime.engine.ports import free_port
from duetime.process import EXIT_USAGE
from tests.operations.bench import Bench, let_go, until
from tests.operations.processes import as_suggested, worker_process
from tests.operations.scraping import read, scrape
from tests.operations.test_why import follow
from workflows.worker import orchestrator


async def test_no_orchestrator(bare: EmbeddedEngine, alone: Bench) -> None:
    job_id = await alone.submit()
    why = await until(lambda: alone.why(job_id), lambda why: why["blocked"])
    assert [one["reason"] for one in why["blocked"]] == ["no_orchestrator", "no_worker"]
    assert why["suggestions"][0]["command"] == "python worker.py"
    assert why["state"] == "queued"
    view = await alone.backlog(overdue=1)
    assert view["oldest_ready_at"] is not None
    every = await alone.get("/v1/queues")
    assert every["orchestration"]["health"] == "no_orchestrator"
    assert "1 due job waits for one" in every["orchestration"]["verdict"]
    first, second = (one["command"] for one in why["suggestions"])
    async with as_suggested(bare, first), as_suggested(bare, second):
        await alone.in_state(job_id, "succeeded")


async def test_an_attempt_that_ended_is_told_though_nobody_runs_the_workflows(alone: Bench) -> None:
    """The workflow has still to hear of it. Whoever reads the job must not think that it never ran."""
    good = await alone.submit(kind="hold")
    slow = await alone.submit(kind="hold", timeout="3s", retry={"max_attempts": 1})

    async def ended(job_id: str) -> Any:
        return await until(
            lambda: alone.job(job_id), lambda job: [one["outcome"] for one in job["attempts"]] != ["running"]
        )

    async with alone.worker():
        async with orchestrator(alone.client):
            for job_id in (good, slow):
                await alone.in_state(job_id, "running")
        let_go(good)
        told = [await ended(job_id) for job_id in (good, slow)]
        assert [job["state"] for job in told] == ["queued", "queued"]
        assert [job["attempt"] for job in told] == [1, 1]
        assert [job["attempts"][0]["outcome"] for job in told] == ["succeeded", "timed_out"]
        assert all(job["attempts"][0]["worker"] and job["started_at"] for job in told)
        listed = await alone.get(f"/v1/jobs?queue={alone.queue}")
        assert [job["attempt"] for job in listed["jobs"]] == [1, 1]
        why = await until(
            lambda: alone.why(good),
            lambda why: why["blocked"] and why["blocked"][0]["reason"] != "workers_full",
        )
        assert why["blocked"][0]["reason"] == "no_orchestrator"
        async with orchestrator(alone.client):
            for job, state in zip(told, ("succeeded", "failed"), strict=True):
                done = await alone.in_state(job["id"], state)
                assert len(done["attempts"]) == 1
                for name in ("outcome", "worker", "fencing_token", "started_at"):
                    assert done["attempts"][0][name] == job["attempts"][0][name]


async def test_a_job_after_others_is_not_overdue_before_its_workflow_has_run(alone: Bench) -> None:
    """Its input alone knows what it comes after. It has been due for years, and could not have run for one moment."""
    first = await alone.submit(delay="1h")
    after = await alone.submit(after=[first], run_at="2020-01-01T00:00:00Z")
    assert (await alone.job(after))["state"] == "waiting"
    view = await alone.backlog(scheduled=1, waiting=1)
    assert view["oldest_ready_at"] is None
    counts = await alone.get(f"/v1/jobs:count?queue={alone.queue}&by=state")
    assert (counts["states"]["waiting"], counts["states"]["queued"]) == (1, 0)
    why = await alone.blocked_by(after, "waiting_on_jobs", "no_orchestrator")
    assert [one["action"] for one in why["suggestions"]] == ["run_now", "start_worker"]


SOON = timedelta(seconds=4)


@workflow.defn(name="Job")
class Broken:
    """As a version that does not fit the histories that are there."""

    @workflow.run
    async def run(self, job: Any) -> None:
        raise RuntimeError("not deterministic")


async def test_workflow_failing(bare: EmbeddedEngine, alone: Bench) -> None:
    job_id = alone.queue
    alone.made.append(job_id)
    # Its workflow tasks time out soon: a worker tells of the first failure alone.
    await alone.client.start_workflow(
        "Job", {"kind": "quick", "queue": alone.queue}, id=job_id, task_queue="duetime", task_timeout=SOON
    )
    other = await connect(bare.address)
    broken = Worker(
        other, task_queue="duetime", workflows=[Broken], workflow_runner=UnsandboxedWorkflowRunner()
    )
    async with broken:
        why = await alone.blocked_by(job_id, "workflow_failing", "no_worker")
        assert why["blocked"][0]["tries"] >= 2
        assert job_id in why["suggestions"][0]["command"]
        await follow(alone, why, "read_failure")
    async with orchestrator(alone.client), alone.worker():
        await alone.in_state(job_id, "succeeded")


async def test_workers_that_are_gone_are_told_by_the_name_of_their_queue(
    bare: EmbeddedEngine, alone: Bench
) -> None:
    """One is killed, the other frozen: within seconds nobody serves the queue, and everybody says so."""
    port, options = free_port(), ("--no-workflows", "--concurrency", "3")
    async with (
        orchestrator(alone.client),
        worker_process(bare, alone.queue, *options, DUETIME_METRICS_PORT=str(port)) as killed,
        worker_process(bare, alone.queue, *options) as frozen,
    ):
        view = await until(alone.view, lambda view: view["slots"] == 6)
        assert {worker["identity"].split("@")[0] for worker in view["workers"]} == {
            str(killed.process.pid),
            str(frozen.process.pid),
        }
        assert all(worker["told_by"] == "heartbeat" for worker in view["workers"])
        # Before their first sign of life, when they die that soon, these tell that there should be one.
        polls = (await read_lane(alone.client, alone.queue)).polls
        assert len(polls) == 2 and all(poll.promises for poll in polls)
        seen = await scrape(port)
        assert any(name == "temporal_worker_task_slots_available" for name, _ in seen)

        frozen.process.send_signal(signal.SIGSTOP)
        await killed.end(signal.SIGKILL)
        view = await until(alone.view, lambda view: not view["workers"], seconds=12)
        assert view["verdict"] == f"nothing waits, and no worker polls queue `{alone.queue}`"
        await frozen.end(signal.SIGKILL)  # before its open polls swallow the job
        job_id = await alone.submit()
        view = await alone.backlog(queued=1)
        assert view["health"] == "no_worker" and f"no worker polls queue `{alone.queue}`" in view["verdict"]
        await alone.blocked_by(job_id, "no_worker")
        report = await alone.get("/v1/doctor")
        assert any(
            one["severity"] == "error" and f"no worker polls queue `{alone.queue}`" in one["says"]
            for one in report["findings"]
        )

        async def shown() -> bool:  # some seconds old
            metrics = read((await alone.http.get("/metrics")).text)
            health = metrics.get(("duetime_queue_health", ("no_worker", alone.queue)))
            return health == 1 and metrics["duetime_queue_workers", (alone.queue,)] == 0

        await until(shown)


async def test_a_worker_whose_first_sign_of_life_was_its_last_does_not_haunt_its_queue(
    bare: EmbeddedEngine, alone: Bench
) -> None:
    async with worker_process(bare, alone.queue, "--no-workflows") as worker:
        await until(alone.view, lambda view: [one["told_by"] for one in view["workers"]] == ["heartbeat"])
        await worker.end(signal.SIGKILL)
        await until(alone.view, lambda view: not view["workers"], seconds=12)


async def test_a_port_that_is_taken_stops_the_worker_with_a_reason(bare: EmbeddedEngine) -> None:
    holder = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with holder:
        port = holder.sockets[0].getsockname()[1]
        async with worker_process(bare, "some-queue", DUETIME_METRICS_PORT=str(port)) as worker:
            assert await worker.process.wait() == EXIT_USAGE
    assert f"127.0.0.1:{port}" in worker.log and "DUETIME_METRICS_PORT" in worker.log
    assert "Traceback" not in worker.log
