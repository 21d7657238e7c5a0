"""Jobs without an end while everything around them breaks: afterwards nothing is lost and nothing was done twice.

The long version is `make faults`. It prints its seed; `DUETIME_FAULT_SEED` repeats the schedule of a run.
"""

import asyncio
import contextlib
import json
import os
import random
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from duetime.runtime import clock
from tests.faults.auditing import Auditor
from tests.faults.books import audit, summary
from tests.faults.checker import judge
from tests.faults.collecting import collect
from tests.faults.injection import FAULTS, Scene, attack
from tests.faults.load import Load
from tests.faults.replaying import replay_all
from tests.faults.report import as_text, report
from tests.faults.world import World, world
from tests.support.postgres import running_postgres, skip_without_postgres

#: Where the reports of long runs go.
REPORTS = Path(os.environ.get("DUETIME_FAULT_REPORTS", ".faults"))
#: Seconds until every job must have ended once nothing breaks any more.
_DRAIN = 240.0


#: What does harm within seconds.
QUICK = (
    "kill worker",
    "freeze worker",
    "black hole",
    "lose answers",
    "kill api",
    "kill server",
    "crash database",
)


@pytest.mark.timeout(180)
async def test_a_minute_of_faults(tmp_path: Path) -> None:
    await storm(tmp_path, QUICK, jobs=40, rate=2.5, pause=(0.1, 0.5), workers=2, replayed=20)


@pytest.mark.faults
@pytest.mark.timeout(1500)
async def test_two_thousand_jobs(tmp_path: Path) -> None:
    await storm(
        tmp_path, 6 * [*FAULTS], jobs=2000, rate=4.5, pause=(1, 4), workers=3, replayed=150, kept=True
    )


async def storm(
    folder: Path,
    kinds: Sequence[str],
    *,
    jobs: int,
    rate: float,
    pause: tuple[float, float],
    workers: int,
    replayed: int,
    kept: bool = False,
) -> None:
    skip_without_postgres()
    seed = int(os.environ.get("DUETIME_FAULT_SEED") or secrets.randbelow(1_000_000))
    print(f"\nDUETIME_FAULT_SEED={seed}")
    begun = time.monotonic()
    # A database server of its own: it is going to crash.
    with running_postgres() as postgres:
        async with world(folder, postgres, workers=workers, apis=2, sheltered=False) as made:
            auditor = Auditor(made)
            parked = await auditor.park()
            load = Load(made, seed, jobs, rate, books=auditor.books)
            scene = Scene(made, random.Random(seed))
            loading, reading = asyncio.ensure_future(load.run()), asyncio.ensure_future(auditor.run())
            try:
                await attack(scene, kinds, pause)
                load.enough.set()
                await loading
                await drained(made, load)
            finally:
                loading.cancel()
                reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
            await auditor.rest()
            submitted = load.submitted | set(parked)
            evidence = await collect(made, load.accepted, submitted=submitted, silences=scene.silences)
            auditor.books.close(evidence)
            violations = [*judge(evidence), *audit(auditor.books, evidence)]
            document = report(load, scene.faults, evidence, violations, time.monotonic() - begun)
            ids = [job.id for job in load.accepted]
            document["backlog"] = summary(auditor.books)
            document["replay"] = await replay_all(made, ids, folder / "histories", replayed)
    print(as_text(document))
    if kept:
        keep(document)
    assert violations == []
    assert document["replay"]["failures"] == []
    assert len(load.accepted) == len(load.submitted) >= jobs
    assert len(auditor.books.readings) >= 10
    assert Counter(fault.kind for fault in scene.faults) == Counter(kinds)


async def drained(made: World, load: Load) -> None:
    """Every job has ended, or time is up: then the checker says which have not."""
    until, open_jobs = clock.now() + _DRAIN, [job.id for job in load.accepted]
    while open_jobs and clock.now() < until:
        found = await asyncio.gather(*(made.job(job_id) for job_id in open_jobs[:40]))
        ended = {job["id"] for job in found if job["finished_at"] is not None}
        open_jobs = [job_id for job_id in open_jobs if job_id not in ended]
        open_jobs = [*open_jobs[40:], *open_jobs[:40]]
        if not ended:
            await asyncio.sleep(0.5)


def keep(document: dict[str, object]) -> None:
    REPORTS.mkdir(exist_ok=True)
    name = REPORTS / f"seed-{document['seed']}"
    name.with_suffix(".json").write_text(json.dumps(document, indent=2) + "\n")
    name.with_suffix(".md").write_text(as_text(document))
    print(f"kept as {name}.json and {name}.md")
