"""Workers are replaced while jobs run: what can finish does, what cannot goes elsewhere at once, what waits too."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.checker import Accepted, judge
from tests.faults.collecting import collect
from tests.faults.world import world
from tests.support.postgres import PostgresServer
from tests.support.waiting import eventually

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@pytest.mark.parametrize(("seconds", "finishes"), [(5, True), (20, False)])
async def test_one_job_runs_and_three_wait(
    postgres_server: PostgresServer, tmp_path: Path, seconds: int, finishes: bool
) -> None:
    """A worker with one place is told to stop, with ten seconds of grace and a lease of a minute."""
    async with world(tmp_path, postgres_server, started=1, grace="10s", concurrency=1) as scene:
        a, b = scene.workers
        old = a.identity
        running = await scene.submit("fault.long", {"seconds": seconds}, lease="60s")
        await eventually(lambda: scene.journal("begin"))
        waiting = [await scene.submit("fault.long", {"seconds": 0.1}, lease="60s") for _ in range(3)]
        b.start()
        await scene.ready(b)
        stopping = asyncio.ensure_future(a.terminate())
        for job_id in waiting:
            job = await scene.final(job_id)
            assert (job["result"], len(job["attempts"])) == (b.identity, 1)
        assert await stopping == 0
        job = await scene.final(running)
        outcomes = [(attempt["worker"], attempt["outcome"]) for attempt in job["attempts"]]
        if finishes:
            assert outcomes == [(old, "succeeded")]
        else:
            assert outcomes == [(old, "interrupted"), (b.identity, "succeeded")]
            first, second = (attempt["fencing_token"] for attempt in job["attempts"])
            assert first < second
        assert job["attempt"] == 1
        evidence = await collect(
            scene, [Accepted(job_id, "fault.long", lease=60) for job_id in (running, *waiting)]
        )
        assert judge(evidence) == []


async def test_a_rolling_restart_of_all_workers(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """Two hundred short jobs meanwhile: each effect once, and no lease is lost by it."""
    async with world(tmp_path, postgres_server, workers=3, sheltered=False, grace="10s") as scene:
        ids = []

        async def feed() -> None:
            for number in range(200):
                payload = {"ledger": "postgresql", "work": 0.05}
                job = {"id": f"rolling-{number}", "lease": "60s"}
                ids.append(await scene.submit("fault.effect", payload, **job))
                await asyncio.sleep(0.08)

        feeding = asyncio.ensure_future(feed())
        for slot in scene.workers:
            assert await slot.terminate() == 0
            slot.lines.clear()
            slot.start()
            await scene.ready(slot)
        await feeding
        jobs = [await scene.final(job_id) for job_id in ids]
        evidence = await collect(
            scene, [Accepted(job_id, "fault.effect", "postgresql", lease=60) for job_id in ids]
        )
    assert judge(evidence) == []
    outcomes = [attempt["outcome"] for job in jobs for attempt in job["attempts"]]
    assert outcomes.count("lease_lost") == 0
    assert outcomes.count("succeeded") == 200
    assert len(outcomes) - 200 <= 3, "what could finish in the grace did"
