"""Many failed jobs run again: each once, after a look, at a pace, behind canaries."""

import asyncio

import pytest
from temporalio.client import Client

from duetime.contracts.schedule_book import MADE_BY
from duetime.worker import Worker
from tests.bulk.conftest import Bulk, fail, states
from tests.support.jobs import Jobs

pytestmark = pytest.mark.usefixtures("worker")


async def test_each_failed_job_runs_again_once(bulk: Bulk) -> None:
    made = await fail(bulk, 12)
    bulk.mended = True
    begun = await bulk.begin("retry", filter={"state": ["failed"]})
    assert (begun["action"], begun["filter"]) == ("retry", {"queue": bulk.queue, "state": ["failed"]})
    ended = await bulk.ended(begun)
    assert (ended["state"], ended["total"]) == ("done", 12)
    assert ended["counts"] == {"done": 12, "skipped": 0, "failed": 0, "left": 0}
    assert ended["finished_at"] is not None and ended["remaining"] is None
    await bulk.counted(12, state="succeeded")
    assert bulk.ran == dict.fromkeys(made, 2)


async def test_a_dry_run_tells_and_keeps_exactly_the_set(bulk: Bulk) -> None:
    rejected, broken = await fail(bulk, 4), await fail(bulk, 2, "bulk.breaks")
    frozen = await bulk.begin("retry", dry_run=True)
    assert (frozen["state"], frozen["total"]) == ("frozen", 6)
    assert {job["id"] for job in frozen["sample"]} == {*rejected, *broken}
    assert {(job["kind"], job["queue"]) for job in frozen["sample"]} == {
        ("bulk.work", bulk.queue),
        ("bulk.breaks", bulk.queue),
    }
    assert [(group["type"], group["count"]) for group in frozen["errors"]] == [
        ("Rejected", 4),
        ("ConnectionError", 2),
    ]
    assert frozen["errors"][1]["example"] in broken and frozen["errors_of"] == 6
    assert bulk.ran == dict.fromkeys([*rejected, *broken], 1), "a dry run runs nothing"
    # One job fails after the look: it is not in the set. Another is run by hand: it has moved on.
    later = await bulk.submit(1, id=f"{bulk.queue}-later")
    await bulk.counted(7, state="failed")
    bulk.mended = True
    assert (await bulk.http.post(f"/v1/jobs/{rejected[0]}:retry")).status_code == 200
    assert (await bulk.http.get(f"/v1/jobs/{rejected[0]}/result?wait=30s")).json()["state"] == "succeeded"
    # By a redrive that the operation then finds done already: both made the same run.
    run = await bulk.command(frozen, "run")
    assert run.status_code == 202, run.text
    ended = await bulk.ended(frozen)
    assert ended["counts"] == {"done": 6, "skipped": 0, "failed": 0, "left": 0}
    await bulk.counted(4, state="succeeded")
    assert {one: bulk.ran[one] for one in rejected} == dict.fromkeys(rejected, 2)
    assert len(later) == 1 and bulk.ran[f"{bulk.queue}-later"] == 1
    again = await bulk.command(frozen, "run")
    assert again.status_code == 409 and again.json()["state"] == "done"


async def test_what_moved_on_is_skipped_and_told(bulk: Bulk) -> None:
    made = await fail(bulk, 3)
    frozen = await bulk.begin("retry", dry_run=True)
    # Fails again under a run of its own, and once more: the run in the set is two behind.
    for times in (2, 3):
        assert (await bulk.http.post(f"/v1/jobs/{made[1]}:retry")).status_code == 200
        await bulk.counted(2 + times, state="failed")
    # The id of another is taken by a new job.
    assert (await bulk.http.post("/v1/jobs", json=_anew(bulk, made[2]))).status_code == 201
    bulk.mended = True
    assert (await bulk.command(frozen, "run")).status_code == 202
    ended = await bulk.ended(frozen)
    assert ended["counts"] == {"done": 1, "skipped": 2, "failed": 0, "left": 0}
    assert ended["skipped_because"] == {"moved_on": 2}
    assert {fault["id"] for fault in ended["faults"]} == {made[1], made[2]}


def _anew(bulk: Bulk, job_id: str) -> dict[str, object]:
    return {"id": job_id, "kind": "bulk.work", "queue": bulk.queue, "reuse_id": True, "delay": "1h"}


async def test_a_job_that_was_mended_since_is_not_in_the_set(bulk: Bulk) -> None:
    """Its failed run is in the index for as long as the server keeps it."""
    made = await fail(bulk, 2)
    bulk.mended = True
    await bulk.http.post(f"/v1/jobs/{made[0]}:retry")
    await bulk.counted(1, state="succeeded")
    frozen = await bulk.begin("retry", dry_run=True)
    assert [job["id"] for job in frozen["sample"]] == [made[1]] and frozen["total"] == 1


async def test_two_operations_at_once_make_one_run_of_each(bulk: Bulk) -> None:
    made = await fail(bulk, 8)
    bulk.mended = True
    begun = await asyncio.gather(*(bulk.begin("retry", rate=500) for _ in range(2)))
    for operation in begun:
        assert (await bulk.ended(operation))["counts"]["failed"] == 0
    await bulk.counted(8, state="succeeded")
    assert bulk.ran == dict.fromkeys(made, 2)


async def test_a_canary_that_fails_halts_everything_behind_it(bulk: Bulk) -> None:
    made = await fail(bulk, 10)
    bulk.mended = True
    frozen = await bulk.begin("retry", dry_run=True)
    first = [job["id"] for job in frozen["sample"][:3]]
    bulk.hopeless = {first[1]}
    await bulk.command(frozen, "run", canary=3)
    ended = await bulk.ended(frozen)
    assert ended["state"] == "halted"
    assert ended["counts"] == {"done": 3, "skipped": 0, "failed": 0, "left": 7}
    assert [(lost["id"], lost["reason"]) for lost in ended["lost"]] == [(first[1], "failed")]
    assert "not mended" in ended["lost"][0]["says"] and ended["reason"] == "1 of 3 canaries did not succeed"
    assert {one for one in made if bulk.ran[one] == 2} == set(first)


async def test_canaries_that_succeed_let_the_others_pass(bulk: Bulk) -> None:
    made = await fail(bulk, 5)
    bulk.mended = True
    ended = await bulk.ended(await bulk.begin("retry", canary=2))
    assert (ended["state"], ended["counts"]["done"], ended["lost"]) == ("done", 5, [])
    await bulk.counted(5, state="succeeded")
    assert bulk.ran == dict.fromkeys(made, 2)


async def test_a_stop_leaves_alone_whose_turn_has_not_come(bulk: Bulk) -> None:
    made = await fail(bulk, 6)
    bulk.mended = True
    begun = await bulk.begin("retry", rate=0.5)

    async def has_begun() -> None:
        await bulk.until(begun, "running")

    await has_begun()
    assert (await bulk.command(begun, "stop", reason="enough")).status_code == 202
    ended = await bulk.ended(begun)
    assert ended["state"] == "stopped" and ended["reason"].startswith("enough")
    done, left = ended["counts"]["done"], ended["counts"]["left"]
    assert done + left == 6 and left > 0
    assert sum(bulk.ran[one] == 2 for one in made) <= done
    assert (await bulk.command(begun, "stop")).status_code == 202, "once more is no fault"


async def test_the_rate_is_kept(bulk: Bulk, worker: Worker) -> None:
    """By what the handlers saw: never more begun than the rate allows since the first."""
    made = await fail(bulk, 6)
    bulk.mended = True
    loop = asyncio.get_running_loop()
    began = loop.time()
    ended = await bulk.ended(await bulk.begin("retry", rate=2))
    assert ended["counts"]["done"] == 6
    assert loop.time() - began >= (len(made) - 1) / 2


async def test_nothing_to_do_is_done(bulk: Bulk) -> None:
    ended = await bulk.ended(await bulk.begin("retry"))
    assert (ended["state"], ended["total"], ended["counts"]["done"]) == ("done", 0, 0)


async def test_a_key_makes_one_operation_of_repeated_calls(bulk: Bulk) -> None:
    made = await fail(bulk, 2)
    bulk.mended = True
    key = f"key-{bulk.queue}"
    first, second = await asyncio.gather(*(bulk.post("retry", key=key) for _ in range(2)))
    assert first.json()["id"] == second.json()["id"]
    assert {first.headers.get("Idempotency-Replayed"), second.headers.get("Idempotency-Replayed")} == {
        None,
        "true",
    }
    other = await bulk.post("retry", key=key, canary=1)
    assert other.status_code == 422 and other.json()["type"].endswith("idempotency-key-reused")
    await bulk.ended(first.json())
    await bulk.counted(2, state="succeeded")
    assert bulk.ran == dict.fromkeys(made, 2)


async def test_a_checkpoint_goes_along_when_asked(bulk: Bulk) -> None:
    """What the redrive of one job takes, that of many takes."""
    made = await fail(bulk, 1)
    bulk.mended = True
    ended = await bulk.ended(await bulk.begin("retry", **{"from": "checkpoint"}))
    assert ended["counts"]["done"] == 1
    await bulk.counted(1, state="succeeded")
    refused = await bulk.post("retry", filter={"state": ["succeeded"]})
    assert refused.status_code == 422 and '"force": true' in refused.json()["detail"]
    ended = await bulk.ended(await bulk.begin("retry", filter={"state": ["succeeded"]}, force=True))
    assert ended["counts"]["done"] == 1
    await bulk.counted(2, state="succeeded")
    assert await states(bulk, made) == ["succeeded"]


async def test_a_redriven_run_keeps_whose_it_is(bulk: Bulk, client: Client, job_id: str) -> None:
    """The schedule that made it, and its share of the queue."""
    made_by = {"schedule": "nightly"}
    spec = {
        "kind": "bulk.work",
        "queue": bulk.queue,
        "fairness_key": "tenant-42",
        "retry": {"max_attempts": 1},
    }
    handle = await Jobs(client, bulk.queue).start_raw(spec, id=job_id, memo={MADE_BY: made_by})
    await bulk.counted(1, state="failed")
    bulk.mended = True
    assert (await bulk.ended(await bulk.begin("retry")))["counts"]["done"] == 1
    described = await client.get_workflow_handle(job_id).describe()
    assert described.run_id != handle.first_execution_run_id
    assert (await described.memo())[MADE_BY] == made_by
    assert described.raw_info.priority.fairness_key == "tenant-42"


async def test_a_job_of_a_pipeline_is_left_to_it(bulk: Bulk, client: Client, job_id: str) -> None:
    spec = {"kind": "bulk.work", "queue": bulk.queue, "retry": {"max_attempts": 1}}
    carry = {"$duetime": 1, "pipeline_id": "daily"}
    await Jobs(client, bulk.queue).start_raw(spec, carry, id=job_id)
    await bulk.counted(1, state="failed")
    ended = await bulk.ended(await bulk.begin("retry"))
    assert ended["skipped_because"] == {"of_pipeline": 1}
    assert "'daily'" in ended["faults"][0]["says"] and bulk.ran[job_id] == 1
