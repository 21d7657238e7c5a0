"""A worker is stopped past its leases, another one does its jobs, and the first wakes and goes on unawares."""

import re
from pathlib import Path

import pytest

from duetime.runtime import clock
from tests.faults.checker import Accepted, Silence, judge
from tests.faults.collecting import collect
from tests.faults.world import World, world
from tests.support.postgres import PostgresServer
from tests.support.waiting import eventually

LEDGERS = ("postgresql", "sqlite")


@pytest.mark.parametrize("each", [2, pytest.param(20, marks=[pytest.mark.faults, pytest.mark.timeout(300)])])
async def test_a_zombie_writes_nothing(postgres_server: PostgresServer, tmp_path: Path, each: int) -> None:
    """`each` zombies for either database; and jobs that were swallowed by the frozen worker's open polls."""
    async with world(tmp_path, postgres_server, started=1) as scene:
        await play(scene, each)


async def play(scene: World, each: int) -> None:
    a, b = scene.workers
    zombies = {}
    for ledger in LEDGERS:
        for _ in range(each):
            zombies[await scene.submit("fault.zombie", {"ledger": ledger})] = ledger
    await eventually(lambda: len(scene.journal("ready")) == 2 * each)
    old, frozen_at = a.identity, clock.now()
    a.freeze()

    swallowed = [await scene.submit("fault.effect", {"ledger": ledger, "work": 0}) for ledger in LEDGERS]
    for job_id in swallowed:
        await eventually(lambda job_id=job_id: is_held(scene, job_id))

    b.start()
    await scene.ready(b)
    done = {job_id: await scene.final(job_id) for job_id in [*zombies, *swallowed]}
    a.thaw()
    await eventually(lambda: len(scene.journal("stopped")) == 2 * each)
    (scene.folder / "wake").touch()
    await eventually(lambda: len(scene.journal("stale")) == 2 * each)
    await eventually(lambda: sum("before this one began" in line for line in a.lines) >= len(swallowed))

    accepted = [Accepted(job_id, "fault.zombie", ledger) for job_id, ledger in zombies.items()]
    accepted += [
        Accepted(job_id, "fault.effect", ledger) for job_id, ledger in zip(swallowed, LEDGERS, strict=True)
    ]
    evidence = await collect(scene, accepted, silences=[Silence(old, frozen_at, clock.now())])
    assert judge(evidence) == []

    stale = {fact["job"]: fact for fact in scene.journal("stale")}
    for job_id in zombies:
        job, attempts = evidence.jobs[job_id], evidence.jobs[job_id]["attempts"]
        assert job["result"] == done[job_id]["result"] == f"attempt with {attempts[-1]['fencing_token']}"
        assert (attempts[0]["worker"], attempts[0]["outcome"]) == (old, "lease_lost")
        assert (attempts[-1]["worker"], attempts[-1]["outcome"]) == (b.identity, "succeeded")
        assert stale[job_id]["token"] == attempts[0]["fencing_token"]
        assert stale[job_id]["seen"] == attempts[-1]["fencing_token"]
    for rows in (*evidence.writes.values(), *evidence.deliveries.values()):
        assert {row["worker"] for row in rows} == {b.identity}
    assert not [fact for fact in scene.journal("begin") if fact["job"] in swallowed and fact["worker"] == old]

    assert await a.terminate() == 0
    assert a.says(f"stale_starts {len(swallowed)}")
    assert a.says(f"leases_lost {2 * each},")
    counted = next(line for line in a.lines if "counted:" in line)
    refused = [int(found) for found in re.findall(r"(?:late_results|results_refused) (\d+)", counted)]
    assert sum(refused) == 2 * each, counted


async def is_held(scene: World, job_id: str) -> bool:
    job = await scene.job(job_id)
    return bool(job["state"] == "running" and job["lease"]["worker"] == scene.workers[0].identity)
