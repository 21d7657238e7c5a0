"""Runs by the rule: when, under which id, with what the handler is told; and one time left out, pauses, limits."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client

from duetime import Job, handler
from duetime.contracts.instants import parse_instant
from duetime.worker import Worker
from tests.api.caller import problem
from tests.schedules.conftest import Scheduler, later, passed, soon
from tests.support.waiting import eventually


@handler("tells-nominal")
async def tells_nominal(payload: dict[str, Any], job: Job) -> str:
    assert job.nominal_time is not None
    return job.nominal_time.isoformat()


async def test_a_run_carries_its_nominal_time_everywhere(schedule: Scheduler, client: Client) -> None:
    due = soon(4)
    async with Worker(client, [tells_nominal], queues=[schedule.queue]):
        await schedule.made(at=[due], job={"kind": "tells-nominal", "tags": ["x"], "priority": 2})
        (job,) = await schedule.until_fired(1)
        assert job["id"] == f"{schedule.id}~-{due}"
        assert (job["schedule_id"], job["nominal_time"], job["tags"]) == (schedule.id, due, ["x"])
        answer = await schedule.http.get(f"/v1/jobs/{job['id']}/result", params={"wait": "20s"})
    final = answer.json()
    assert (final["state"], final["priority"]) == ("succeeded", 2)
    assert parse_instant(final["result"]) == parse_instant(due)
    assert (final["schedule_id"], final["nominal_time"]) == (schedule.id, due)

    async def told() -> bool:
        found = await schedule.get()
        return bool(found["last_success"] and found["last_success"]["job_id"] == job["id"])

    await eventually(told)
    found = await schedule.get()
    assert found["state"] == "finished" and found["next"] == []
    assert found["counters"]["fired"] == 1 and found["last_runs"][0]["state"] == "succeeded"
    (row,) = await schedule.occurrences(due, due)
    assert (row["state"], row["job_id"], row["job_state"]) == ("fired", job["id"], "succeeded")
    assert row["late_by"] is not None


async def test_each_kind_of_rule_fires_by_itself(schedule: Scheduler, client: Client) -> None:
    """Cron of six fields, a union, spans, and instants, all at once, for some seconds."""
    at = soon(4)
    rules: dict[str, dict[str, Any]] = {
        "six": {"cron": "*/2 * * * * *"},
        "union": {"cron": ["1-59/4 * * * * *", "3-59/4 * * * * *"]},
        "every": {"every": "2s", "offset": "1s"},
        "zone": {"cron": "*/2 * * * * *", "timezone": "Asia/Kolkata"},
        "at": {"at": [later(at, 1), at]},
    }
    made = {name: Scheduler(schedule.http, schedule.queue, f"{schedule.id}-{name}") for name in rules}
    await asyncio.gather(*(made[name].made(overlap="allow", **rule) for name, rule in rules.items()))
    fired = {name: await one.until_fired(2) for name, one in made.items()}
    await asyncio.gather(*(schedule.http.delete(one.path) for one in made.values()))
    odd = {name: {parse_instant(j["nominal_time"]).second % 2 for j in jobs} for name, jobs in fired.items()}
    assert odd | {"at": None} == {"six": {0}, "zone": {0}, "union": {1}, "every": {1}, "at": None}
    assert {job["nominal_time"] for job in fired["at"]} == {at, later(at, 1)}


async def test_one_time_is_left_out_and_no_other(schedule: Scheduler) -> None:
    first = soon(4)
    times = [first, later(first, 1), later(first, 2)]
    await schedule.made(at=times, overlap="allow")
    answer = await schedule.skip(times[1], reason="holiday")
    assert answer.status_code == 200 and answer.json()["skipped"] == [times[1]]
    assert (await schedule.skip(times[1])).status_code == 200
    assert [fire["utc"] for fire in answer.json()["next"]] == [times[0], times[2]]
    await schedule.until_fired(2)
    assert await schedule.nominals() == [times[0], times[2]]
    problem(await schedule.skip(times[0]), 409, "too-late")
    problem(await schedule.skip(later(first, 9)), 404, "not-found")
    rows = await schedule.occurrences(times[0], times[2])
    assert [row["state"] for row in rows] == ["fired", "excluded", "fired"]
    assert rows[1]["reason"] == "holiday"


async def test_a_time_that_comes_twice_cannot_be_left_out_once(schedule: Scheduler) -> None:
    await schedule.made(cron="30 1 * * *", timezone="America/New_York", dst={"overlap": "both"})
    answer = await schedule.skip("2027-11-07T05:30:00Z")
    assert "06:30" in problem(answer, 409, "repeated-time")["detail"]
    assert (await schedule.skip("2027-11-08T06:30:00Z")).status_code == 200


async def test_a_pause_is_no_outage(schedule: Scheduler) -> None:
    """Nothing runs in it, nothing is made up after it, and an edit does not end it."""
    first = soon(4)
    times = [later(first, seconds) for seconds in (0, 1, 6)]
    await schedule.made(at=times, catch_up={"window": "1h", "policy": "all"})
    paused = await schedule.told("pause", reason="month end", by="anna")
    assert paused["state"] == "paused"
    assert {k: paused["paused"][k] for k in ("reason", "by", "source")} == {
        "reason": "month end",
        "by": "anna",
        "source": "operator",
    }
    edited = await schedule.made(at=times, note="edited", catch_up={"window": "1h", "policy": "all"})
    assert edited["paused"]["reason"] == "month end"
    await passed(later(times[1], 1))
    resumed = await schedule.told("resume")
    assert resumed["paused"] is None
    assert (await schedule.told("resume"))["revision"] == resumed["revision"]
    await schedule.until_fired(1)
    assert await schedule.nominals() == [times[2]]
    assert list((await schedule.states(times[0], times[2])).values()) == ["paused", "paused", "fired"]


async def test_what_a_pause_kept_from_running_runs_when_asked_for(
    schedule: Scheduler, worker: Worker
) -> None:
    due = soon(3)
    await schedule.made(at=[due, later(due, 3600)])
    await schedule.told("pause", reason="deploy")
    await passed(later(due, 1))
    await schedule.told("resume", missed="run")
    await schedule.until_fired(1)
    assert await schedule.nominals() == [due]


async def test_a_pause_ends_by_itself(schedule: Scheduler) -> None:
    await schedule.made(cron="0 0 1 1 *")
    until = soon(2)
    await schedule.told("pause", reason="deploy", until=until)

    async def active() -> bool:
        return bool((await schedule.get())["state"] == "active")

    await eventually(active)
    assert datetime.now(UTC) >= parse_instant(until)
    answer = await schedule.tell("pause", reason="deploy", until="2001-01-01T00:00:00Z")
    problem(answer, 422, "invalid")


async def test_no_more_runs_than_it_may_have(schedule: Scheduler, client: Client) -> None:
    await schedule.made(cron="* * * * * *", overlap="allow", max_runs=2)

    async def finished() -> bool:
        return bool((await schedule.get())["state"] == "finished")

    await eventually(finished)
    assert len(await schedule.until_fired(2)) == 2
    edited = await schedule.made(cron="* * * * * *", overlap="allow", max_runs=2, note="edited")
    assert (edited["state"], edited["runs_left"]) == ("finished", 0)
    more = await schedule.made(cron="* * * * * *", overlap="allow", max_runs=3)
    assert more["runs_left"] == 1
    assert len(await schedule.until_fired(3)) == 3
    await schedule.made(cron="* * * * * *", overlap="allow", max_runs=3, note="all over")
    # The server forgets a schedule that has run its course; we do not.
    await client.get_schedule_handle(schedule.id).delete()
    assert (await schedule.get())["state"] == "finished"


async def test_a_failure_pauses_it_when_that_is_wanted(schedule: Scheduler, worker: Worker) -> None:
    fields = {"cron": "* * * * * *", "pause_on_failure": True, "job": {"kind": "reject"}}
    await schedule.made(**fields)

    async def paused() -> Any:
        return (await schedule.get())["paused"]

    pause = await eventually(paused)
    assert pause["source"] == "failure" and "fail" in pause["reason"].lower()
    # An edit does not make it go on.
    assert (await schedule.made(**fields, note="edited"))["paused"]["source"] == "failure"
    assert (await schedule.told("resume"))["state"] == "active"


async def test_a_stable_jitter_moves_each_run_by_the_same_span(schedule: Scheduler) -> None:
    due = soon(4)
    await schedule.made(at=[due, later(due, 1)], overlap="allow", jitter="1h", jitter_mode="stable")
    jobs = await schedule.until_fired(2)
    assert {job["state"] for job in jobs} == {"scheduled"}
    offsets = [
        (parse_instant(job["due_at"]) - parse_instant(job["created_at"])).total_seconds() for job in jobs
    ]
    assert 0 < offsets[0] < 3600 and abs(offsets[0] - offsets[1]) < 0.01


async def test_an_edit_beside_the_rule_neither_fires_nor_drops_a_run(
    schedule: Scheduler, worker: Worker
) -> None:
    fields: dict[str, Any] = {"cron": "* * * * * *", "overlap": "allow", "catch_up": {"policy": "none"}}
    made = await schedule.made(**fields)
    begin = later(made["created_at"].split(".")[0] + "Z", 2)
    for number in range(5):
        await schedule.made(**fields, note=str(number), job={"payload": {"n": number}})
        await asyncio.sleep(0.5)
    end = soon(0)
    await passed(end)

    async def complete() -> bool:
        return set((await schedule.states(begin, end)).values()) == {"fired"}

    await eventually(complete)
    await schedule.http.delete(schedule.path)
    nominals = await schedule.nominals()
    assert len(set(nominals)) == len(nominals)
