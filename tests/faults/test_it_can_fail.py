"""The suite can fail: what it calls right turns wrong when a mistake is made on purpose, and only then."""

from pathlib import Path

import pytest

from duetime.runtime import clock
from tests.faults.auditing import BYS, Auditor
from tests.faults.books import audit
from tests.faults.checker import Accepted, Silence, Violation, judge
from tests.faults.collecting import collect
from tests.faults.load import Load
from tests.faults.world import World, world
from tests.support.postgres import PostgresServer
from tests.support.waiting import eventually

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("mistake", ["", "durability"])
async def test_an_answer_before_the_job_is_durable(
    postgres_server: PostgresServer, tmp_path: Path, mistake: str
) -> None:
    """The API is killed as soon as it has answered."""
    async with world(tmp_path, postgres_server, workers=1, break_it=mistake) as scene:
        job_id = await scene.submit("fault.effect", {"ledger": "sqlite", "work": 0})
        await scene.apis[0].kill()
        scene.apis[0].start()
        await scene.ready()
        if not mistake:
            await scene.final(job_id)
        found = judge(await collect(scene, [Accepted(job_id, "fault.effect", "sqlite")]))
    assert promises(found) == ({"accepted means kept", "effects once"} if mistake else set())


@pytest.mark.parametrize("ledger", ["postgresql", "sqlite"])
@pytest.mark.parametrize("mistake", ["", "mark"])
async def test_a_mark_outside_of_the_transaction(
    postgres_server: PostgresServer, tmp_path: Path, mistake: str, ledger: str
) -> None:
    """The worker is killed between the mark and the effect."""
    async with world(tmp_path, postgres_server, started=1, break_it=mistake) as scene:
        job_id = await scene.submit("fault.gap", {"ledger": ledger})
        await eventually(lambda: scene.journal("ready"))
        await scene.workers[0].kill()
        (scene.folder / "go-on").touch()
        scene.workers[1].start()
        await scene.final(job_id)
        found = judge(await collect(scene, [Accepted(job_id, "fault.gap", ledger)]))
    assert promises(found) == ({"effects once"} if mistake else set())


@pytest.mark.parametrize("ledger", ["postgresql", "sqlite"])
@pytest.mark.parametrize("mistake", ["", "fence"])
async def test_no_fence(postgres_server: PostgresServer, tmp_path: Path, mistake: str, ledger: str) -> None:
    """A worker is frozen past its lease and writes when it wakes."""
    async with world(tmp_path, postgres_server, started=1, break_it=mistake) as scene:
        job_id = await scene.submit("fault.zombie", {"ledger": ledger})
        silence = await sleep_through(scene, job_id)
        found = judge(await collect(scene, [Accepted(job_id, "fault.zombie", ledger)], silences=[silence]))
    assert promises(found) == ({"stale writes are refused"} if mistake else set())


@pytest.mark.parametrize(
    ("mistake", "promise"),
    [
        ("", None),
        ("backlog-forgets", "nobody is missing from the backlog"),
        ("backlog-misplaces", "each job is in its place"),
        ("backlog-rest", "the backlog adds up"),
        ("backlog-stale", "nobody else is in the backlog"),
    ],
)
async def test_a_backlog_that_is_told_wrong(
    postgres_server: PostgresServer, tmp_path: Path, mistake: str, promise: str | None
) -> None:
    """By one API instance; the other one is honest."""
    async with world(tmp_path, postgres_server, workers=1, apis=2, break_it=mistake) as scene:
        auditor = Auditor(scene)
        await auditor.park()
        load = Load(scene, seed=1, jobs=4, rate=20, books=auditor.books)
        load.enough.set()
        await load.run()
        for number in range(6):
            await auditor.look(BYS[number % 3], api=1)
        for job in load.accepted:
            await scene.final(job.id)
        await auditor.rest(patience=1 if mistake else 30)
        evidence = await collect(scene, load.accepted, submitted=load.submitted)
        auditor.books.close(evidence)
        found = audit(auditor.books, evidence)
    assert (promise in promises(found)) if promise else found == []


async def sleep_through(scene: World, job_id: str) -> Silence:
    a, b = scene.workers
    await eventually(lambda: scene.journal("ready"))
    identity, frozen_at = a.identity, clock.now()
    a.freeze()
    b.start()
    await scene.final(job_id)
    a.thaw()
    await eventually(lambda: scene.journal("stopped"))
    (scene.folder / "wake").touch()
    await eventually(lambda: sum(fact["event"] == "end" for fact in scene.journal()) == 2)
    return Silence(identity, frozen_at, clock.now())


def promises(found: list[Violation]) -> set[str]:
    return {violation.promise for violation in found}
