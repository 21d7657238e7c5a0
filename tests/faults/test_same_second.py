"""One dispatch for each due time, however many API instances and workers there are."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.faults.checker import Accepted, judge
from tests.faults.collecting import collect
from tests.faults.world import QUEUE, World, world
from tests.support.postgres import PostgresServer


@pytest.mark.parametrize(
    ("count", "ahead"),
    [(60, 4.0), pytest.param(1000, 40.0, marks=[pytest.mark.faults, pytest.mark.timeout(400)])],
)
async def test_jobs_that_are_due_in_one_second(
    postgres_server: PostgresServer, tmp_path: Path, count: int, ahead: float
) -> None:
    """Submitted through two API instances, each job twice; run by three workers that also run the workflows."""
    async with world(tmp_path, postgres_server, workers=3, apis=2, sheltered=False) as scene:
        due = (datetime.now(UTC) + timedelta(seconds=ahead)).replace(microsecond=0)
        gate = asyncio.Semaphore(16)

        async def submit(number: int) -> None:
            async with gate:
                answers = [await post(scene, api, number, due) for api in (number % 2, 1 - number % 2)]
            assert answers == [201, 200]

        await asyncio.gather(*map(submit, range(count)))
        for number in range(count):
            await scene.final(f"same-{number}", patience=240)
        accepted = [
            Accepted(f"same-{number}", "fault.thread", "postgresql", lease=60) for number in range(count)
        ]
        evidence = await collect(scene, accepted)

    assert judge(evidence) == []
    begun = Counter(fact["job"] for fact in evidence.told if fact["event"] == "begin")
    assert begun == Counter(job.id for job in accepted), "each began once"
    assert {len(job["attempts"]) for job in evidence.jobs.values()} == {1}
    started = [datetime.fromisoformat(job["started_at"]) for job in evidence.jobs.values()]
    assert min(started) >= due, "none before its time"
    late = sorted((at - due).total_seconds() for at in started)
    print(
        f"{count} jobs: the first started {late[0]:.1f} s after, half {late[count // 2]:.1f} s, all {late[-1]:.1f} s"
    )


async def post(scene: World, api: int, number: int, due: datetime) -> int:
    body = {
        "kind": "fault.thread",
        "payload": {"ledger": "postgresql", "work": 0},
        "id": f"same-{number}",
        "queue": QUEUE,
        "run_at": due.isoformat(),
        "lease": "60s",
        "on_conflict": "return",
    }
    return (await scene.post("/v1/jobs", body, api=api)).status_code
