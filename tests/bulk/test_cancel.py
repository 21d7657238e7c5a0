"""Many open jobs cancelled."""

from temporalio.client import Client

from tests.bulk.conftest import Bulk, states
from tests.support.workers import serving


async def test_every_open_job_of_the_filter_is_cancelled(bulk: Bulk) -> None:
    due, later = await bulk.submit(3), await bulk.submit(2, "bulk.breaks", delay="1h")
    await bulk.counted(5)
    frozen = await bulk.begin("cancel", dry_run=True, reason="not needed")
    assert (frozen["state"], frozen["total"], frozen["errors"]) == ("frozen", 5, [])
    await bulk.submit(1, id=f"{bulk.queue}-afterwards")
    await bulk.command(frozen, "run")
    ended = await bulk.ended(frozen)
    assert ended["counts"] == {"done": 5, "skipped": 0, "failed": 0, "left": 0}
    assert set(await states(bulk, [*due, *later])) == {"cancelled"}
    assert await states(bulk, [f"{bulk.queue}-afterwards"]) == ["queued"]
    told = (await bulk.http.get(f"/v1/jobs/{due[0]}")).json()
    assert told["error"] == {"type": "Cancelled", "message": "not needed", "stack": None}


async def test_states_are_told_apart(bulk: Bulk) -> None:
    due, later = await bulk.submit(2), await bulk.submit(2, "bulk.breaks", delay="1h")
    await bulk.counted(4)
    frozen = await bulk.begin("cancel", dry_run=True, filter={"state": "scheduled"})
    assert {job["id"] for job in frozen["sample"]} == set(later)
    moved = await bulk.http.post(f"/v1/jobs/{later[0]}:run-now")
    assert moved.status_code == 200
    await bulk.command(frozen, "run")
    ended = await bulk.ended(frozen)
    assert ended["counts"] == {"done": 1, "skipped": 1, "failed": 0, "left": 0}
    assert ended["skipped_because"] == {"queued": 1}
    assert await states(bulk, [*due, *later]) == ["queued", "queued", "queued", "cancelled"]


async def test_what_ended_meanwhile_is_skipped(bulk: Bulk, client: Client) -> None:
    made = await bulk.submit(2)
    await bulk.counted(2)
    frozen = await bulk.begin("cancel", dry_run=True)
    assert frozen["total"] == 2
    bulk.mended = True
    async with serving(client, bulk.queue, *bulk.handlers()):
        await bulk.counted(2, state="succeeded")
    await bulk.command(frozen, "run")
    ended = await bulk.ended(frozen)
    assert ended["skipped_because"] == {"succeeded": 2}
    assert await states(bulk, made) == ["succeeded"] * 2
