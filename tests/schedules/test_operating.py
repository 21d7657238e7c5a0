"""Runs beside the rule, and runs for times of the past."""

import asyncio

import pytest

from duetime.worker import Worker
from tests.api.caller import faults, problem
from tests.api.stage import Stage
from tests.schedules.conftest import Scheduler, passed, soon
from tests.support.waiting import eventually


async def test_runs_beside_the_rule_that_may_overlap_are_as_many_as_are_asked_for(
    schedule: Scheduler,
) -> None:
    await schedule.made(overlap="allow", job={"payload": {"n": 1}})
    told = await asyncio.gather(*(schedule.told("trigger") for _ in range(20)))
    assert {one["state"] for one in told} == {"started"}
    jobs = await schedule.until_fired(20)
    assert {job["id"] for job in jobs} == {one["job_id"] for one in told}
    assert {job["schedule_id"] for job in jobs} == {schedule.id}
    assert (await schedule.get())["counters"]["triggered"] == 20


async def test_a_run_beside_the_rule_counts_for_overlap(
    schedule: Scheduler, worker: Worker, stage: Stage
) -> None:
    await schedule.made(cron="* * * * * *", paused=True, overlap="skip", job={"kind": "gate"})
    await passed(soon(0))
    answer = await schedule.tell("trigger")
    assert "every second" in problem(answer, 422, "refused")["detail"]
    await schedule.made(cron="*/2 * * * * *", paused=True, overlap="skip", job={"kind": "gate"})
    first = await schedule.told("trigger")
    assert first["state"] == "started"
    await stage.began(first["job_id"])
    second = problem(await schedule.tell("trigger"), 409, "overlapped")
    assert second["running"] == [first["job_id"]]
    queued = await schedule.told("trigger", overlap="queue_all")
    assert queued["state"] == "queued" and (await schedule.get())["queued"] == 1
    # The rule's own times meet it too.
    await schedule.made(cron="*/2 * * * * *", paused=False, overlap="skip", job={"kind": "gate"})

    async def skipped() -> bool:
        return bool((await schedule.get())["counters"]["skipped_by_overlap"] >= 3)

    await eventually(skipped)
    await schedule.told("pause", reason="enough")
    rows = await schedule.occurrences(soon(-6), soon(0))
    blocked = [row for row in rows if row["state"] == "skipped_overlap"]
    assert blocked and {row["blocked_by"] for row in blocked} == {first["job_id"]}
    await stage.release(first["job_id"])
    await stage.began(queued["job_id"])
    await stage.release(queued["job_id"])
    assert (await schedule.get())["counters"]["triggered"] == 2


BACKFILL = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:49:00Z"}


async def test_a_backfill_runs_each_time_once_however_often_it_is_asked_for(
    schedule: Scheduler, worker: Worker
) -> None:
    await schedule.made(cron="* * * * *", timezone="UTC", overlap="allow", paused=True)
    dry = await schedule.told("backfill", **BACKFILL, dry_run=True)
    assert (dry["dry_run"], dry["count"], dry["left"], dry["backfill"]) == (True, 50, 0, None)
    assert (dry["times"][0], dry["times"][-1]) == (BACKFILL["from"], BACKFILL["to"])
    assert await schedule.jobs() == []
    first, second = await asyncio.gather(*(schedule.told("backfill", **BACKFILL) for _ in range(2)))
    assert first["backfill"]["id"] == second["backfill"]["id"]

    async def finished() -> bool:
        return all(one["finished_at"] for one in (await schedule.get())["backfills"])

    await eventually(finished, 60)
    again = await schedule.told("backfill", **BACKFILL)
    assert (again["count"], again["left"], again["backfill"]) == (0, 50, None)
    jobs = await schedule.jobs()
    assert len(jobs) == len({job["id"] for job in jobs}) == 50
    (backfill,) = (await schedule.get())["backfills"]
    assert (backfill["total"], backfill["started"], backfill["left"]) == (50, 50, 0)
    job = (await schedule.http.get(f"/v1/jobs/{jobs[0]['id']}")).json()
    assert (job["priority"], job["state"]) == (5, "succeeded")


async def test_a_backfill_in_order_takes_what_failed_and_leaves_what_succeeded(
    schedule: Scheduler, worker: Worker
) -> None:
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:02:00Z"}
    fails = {"kind": "reject"}
    await schedule.made(cron="0,2 * * * *", paused=True, job=fails)

    async def finished(count: int) -> bool:
        ended = [one for one in (await schedule.get())["backfills"] if one["finished_at"]]
        return len(ended) == count and len(await schedule.jobs()) >= ended[0]["total"]

    await schedule.told("backfill", **span)
    await eventually(lambda: finished(1), 60)
    assert {job["state"] for job in await schedule.jobs()} == {"failed"}
    await schedule.made(cron="* * * * *", paused=True)
    dry = await schedule.told("backfill", **span, dry_run=True)
    assert dry["count"] == 3
    await schedule.told("backfill", **span)
    await eventually(lambda: finished(2), 60)
    jobs = {job["id"]: job for job in reversed(await schedule.jobs())}
    assert [job["state"] for job in jobs.values()] == ["succeeded"] * 3
    begun = [job["created_at"] for job in sorted(jobs.values(), key=lambda job: str(job["nominal_time"]))]
    assert begun == sorted(begun)
    assert (await schedule.told("backfill", **span, dry_run=True))["count"] == 0
    forced = await schedule.told("backfill", **span, force=True, dry_run=True)
    assert forced["count"] == 3


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "/to"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2100-01-01T00:00:00Z"}, "/to"),
        ({"from": "2020-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "/to"),
        ({"from": "yesterday", "to": "2026-01-01T00:00:00Z"}, "/from"),
        ({"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "overlap": "skip"}, "/overlap"),
    ],
)
async def test_a_backfill_that_cannot_be(schedule: Scheduler, fields: dict[str, str], pointer: str) -> None:
    await schedule.made(cron="* * * * *", paused=True)
    assert pointer in faults(await schedule.tell("backfill", **fields))
