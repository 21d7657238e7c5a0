"""Pipelines by the rule: under which id, with what their jobs are told, and how runs get on with each other."""

import asyncio
from typing import Any

from temporalio.client import Client

from duetime import Job, handler
from duetime.contracts.instants import parse_instant
from duetime.worker import Worker
from tests.api.caller import problem
from tests.api.stage import Stage
from tests.recurring.conftest import Recurring
from tests.schedules.conftest import later, passed, soon
from tests.support.waiting import eventually


@handler("tells-nominal")
async def tells_nominal(payload: dict[str, Any], job: Job) -> str:
    assert job.nominal_time is not None
    return job.nominal_time.isoformat()


async def test_both_jobs_of_a_pipeline_carry_the_nominal_time(recurring: Recurring, client: Client) -> None:
    jobs = {
        "first": {"kind": "tells-nominal", "tags": ["x"]},
        "second": {"kind": "tells-nominal", "needs": ["first"]},
        "each": {
            "kind": "tells-nominal",
            "needs": ["first"],
            "for_each": [1],
            "payload": {"n": {"$item": ""}},
        },
    }
    async with Worker(client, [tells_nominal], queues=[recurring.queue]):
        await recurring.made(cron="* * * * * *", max_runs=2, overlap="queue_all", jobs=jobs)
        begun = await recurring.until_begun(2)
        for pipeline in begun:
            assert (await recurring.final(pipeline["id"]))["state"] == "succeeded"
    for pipeline in begun:
        found = await recurring.pipeline(pipeline["id"])
        nominal = found["nominal_time"]
        assert found["id"] == f"{recurring.id}~-{nominal}" and found["schedule_id"] == recurring.id
        for name in ("first", "second", "each~0"):
            job = (await recurring.http.get(f"/v1/jobs/{found['id']}~{name}")).json()
            assert (job["nominal_time"], job["schedule_id"]) == (nominal, recurring.id)
            assert job["pipeline_id"] == found["id"]
            assert parse_instant(job["result"]) == parse_instant(nominal)

    async def told() -> bool:
        view = await recurring.get()
        return bool(view["last_success"]) and len(view["last_runs"]) == 2

    await eventually(told)
    view = await recurring.get()
    assert view["state"] == "finished" and view["counters"]["fired"] == 2
    assert {run["pipeline_id"] for run in view["last_runs"]} == {one["id"] for one in begun}
    assert view["last_success"]["job_id"] is None
    jobs_listed = await recurring.jobs()
    assert {job["id"].rpartition("Z~")[2] for job in jobs_listed} == {"first", "second", "each~0"}
    (row,) = await recurring.occurrences(nominal, nominal)
    assert (row["state"], row["job_id"], row["job_state"]) == ("fired", None, "succeeded")
    assert row["pipeline_id"] == found["id"] and row["late_by"] is not None
    assert (await recurring.http.get(row["link"])).json()["id"] == found["id"]
    (listed,) = [
        one
        for one in (await recurring.http.get("/v1/schedules", params={"tag": "x", "limit": 200})).json()[
            "schedules"
        ]
        if one["id"] == recurring.id
    ]
    assert (listed["kind"], listed["kinds"]) == (None, ["tells-nominal"])


async def test_a_time_that_meets_a_slow_pipeline_is_skipped(
    recurring: Recurring, worker: Worker, stage: Stage
) -> None:
    jobs = {"first": {"kind": "gate"}, "second": {"needs": ["first"]}}
    await recurring.made(cron="* * * * * *", overlap="skip", jobs=jobs)
    (open_one,) = await recurring.until_begun(1)
    await stage.began(f"{open_one['id']}~first")

    async def skipped() -> bool:
        return bool((await recurring.get())["counters"]["skipped_by_overlap"] >= 2)

    await eventually(skipped)
    await recurring.told("pause", reason="enough")
    nominal = (await recurring.pipeline(open_one["id"]))["nominal_time"]
    rows = await recurring.occurrences(later(nominal, 1), soon(-1))
    blocked = [row for row in rows if row["state"] == "skipped_overlap"]
    assert blocked and {row["blocked_by"] for row in blocked} == {open_one["id"]}
    assert (await recurring.get())["running"] == [open_one["id"]]
    await stage.release(f"{open_one['id']}~first")
    assert (await recurring.final(open_one["id"]))["state"] == "succeeded"
    # A time before it may have come while the schedule was still being made; that one is not lost either.
    ids = [one["id"] for one in await recurring.pipelines()]
    assert [one for one in ids if one >= open_one["id"]] == [open_one["id"]]


async def test_a_pipeline_that_is_cancelled_for_the_next_one_cleans_up(
    recurring: Recurring, worker: Worker, stage: Stage
) -> None:
    jobs = {"first": {"kind": "gate"}, "clean": {"needs": ["first"], "when": "always"}}
    await recurring.made(overlap="cancel_running", jobs=jobs)
    first = (await recurring.told("trigger"))["pipeline_id"]
    await stage.began(f"{first}~first")
    second = await recurring.told("trigger")
    cancelled = await recurring.final(first)
    assert cancelled["state"] == "cancelled" and cancelled["jobs"]["clean"]["state"] == "succeeded"
    await stage.began(f"{second['pipeline_id']}~first")
    await stage.release(f"{second['pipeline_id']}~first")
    assert (await recurring.final(second["pipeline_id"]))["state"] == "succeeded"


async def test_a_pipeline_that_fails_pauses_the_schedule_when_that_is_wanted(
    recurring: Recurring, worker: Worker
) -> None:
    jobs = {"first": {"kind": "reject"}, "second": {"needs": ["first"]}}
    await recurring.made(cron="* * * * * *", pause_on_failure=True, jobs=jobs)

    async def paused() -> Any:
        return (await recurring.get())["paused"]

    assert (await eventually(paused))["source"] == "failure"


async def test_a_pipeline_that_an_edit_put_in_place_of_a_job_counts_with_it(
    recurring: Recurring, worker: Worker
) -> None:
    answer = await recurring.http.put(
        recurring.path, json={"cron": "0 0 1 1 *", "job": {"kind": "echo", "queue": recurring.queue}}
    )
    assert answer.status_code == 201
    job_id = (await recurring.told("trigger"))["job_id"]
    made = await recurring.made()
    assert made["revision"] == 2 and made["links"]["pipelines"]

    async def started() -> Any:
        answer = await recurring.tell("trigger")
        return answer.json() if answer.status_code == 202 else None

    pipeline_id = (await eventually(started))["pipeline_id"]

    async def both() -> bool:
        return len((await recurring.get())["last_runs"]) == 2

    await eventually(both)
    runs = (await recurring.get())["last_runs"]
    assert {(run["job_id"], run["pipeline_id"]) for run in runs} == {(job_id, None), (None, pipeline_id)}


async def test_a_stable_jitter_holds_the_pipeline_back(
    recurring: Recurring, worker: Worker, stage: Stage
) -> None:
    due = soon(4)
    fields = {"at": [due, later(due, 1)], "overlap": "allow", "jitter": "2h", "jitter_mode": "stable"}
    await recurring.made(**fields, pipeline={"deadline": "1h"})
    begun = await recurring.until_begun(2)

    async def held(pipeline_id: str) -> Any:
        found = await recurring.pipeline(pipeline_id)
        return found if found["starts_at"] else None

    offsets = []
    for one in begun:
        found = await eventually(lambda one=one: held(one["id"]))  # type: ignore[misc]
        assert found["state"] == "scheduled" and found["jobs"]["first"]["reason"] == "time"
        starts_at = parse_instant(found["starts_at"])
        # The deadline counts from then.
        assert (parse_instant(found["deadline_at"]) - starts_at).total_seconds() == 3600
        offsets.append((starts_at - parse_instant(found["created_at"])).total_seconds())
    assert 0 < offsets[0] < 7200 and abs(offsets[0] - offsets[1]) < 1
    answer = await recurring.http.post(f"/v1/pipelines/{begun[0]['id']}:cancel", json={})
    assert answer.status_code == 202
    assert (await recurring.final(begun[0]["id"]))["state"] == "cancelled"
    # One that somebody starts by hand beside the others is not held back.
    by_hand = (await recurring.told("trigger"))["pipeline_id"]
    found = await recurring.final(by_hand)
    assert (found["state"], found["schedule_id"]) == ("succeeded", recurring.id)
    assert found["nominal_time"] is not None and found["starts_at"] is None
    problem(await recurring.http.get(f"/v1/jobs/{by_hand}"), 404, "not-found")
    await recurring.http.post(f"/v1/pipelines/{begun[1]['id']}:cancel", json={"mode": "force"})


async def test_a_short_stable_jitter_ends_by_itself(
    recurring: Recurring, worker: Worker, stage: Stage
) -> None:
    due = soon(5)
    await recurring.made(at=[due], jitter="3s", jitter_mode="stable")
    (one,) = await recurring.until_begun(1)
    found = await recurring.final(one["id"])
    assert found["state"] == "succeeded" and found["nominal_time"] == due


async def test_times_of_the_past_run_once(recurring: Recurring, worker: Worker) -> None:
    await recurring.made(cron="*/5 * * * *")
    asked = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:10:00Z"}
    await recurring.told("backfill", **asked)

    async def filled() -> bool:
        return bool((await recurring.get())["backfills"][0]["finished_at"])

    await eventually(filled)
    ids = {f"{recurring.id}~-2026-01-01T00:{minute}:00Z" for minute in ("00", "05", "10")}
    found = [await recurring.pipeline(one) for one in ids]
    assert {one["state"] for one in found} == {"succeeded"}
    job = (await recurring.http.get(f"/v1/jobs/{found[0]['id']}~first")).json()
    assert job["priority"] == 5 and job["nominal_time"] == found[0]["nominal_time"]

    async def known() -> bool:
        told = await recurring.told("backfill", **asked, dry_run=True)
        return (told["count"], told["left"]) == (0, 3)

    await eventually(known)
    assert (await recurring.get())["counters"]["backfilled"] == 3


async def test_what_a_pause_kept_from_running_runs_when_asked_for(
    recurring: Recurring, worker: Worker
) -> None:
    due = soon(4)
    await recurring.made(at=[due, later(due, 3600)], overlap="allow")
    await recurring.told("pause", reason="deploy")
    await passed(later(due, 1))
    await asyncio.gather(recurring.told("resume", missed="run"), recurring.until_begun(1))
    (one,) = await recurring.until_begun(1)
    assert one["id"] == f"{recurring.id}~-{due}"
    assert (await recurring.final(one["id"]))["state"] == "succeeded"
