"""Creating, replacing, reading, listing and deleting."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleIntervalSpec,
    ScheduleSpec,
)

from tests.api.caller import faults, problem
from tests.schedules.conftest import Scheduler
from tests.support.waiting import eventually


async def test_a_schedule_comes_back_as_it_was_given(schedule: Scheduler) -> None:
    spec = schedule.spec(
        cron="0 2 * * MON-FRI", timezone="America/New_York", jitter="120s", note="for the board"
    )
    answer = await schedule.http.put(schedule.path, json=spec)
    assert answer.status_code == 201, answer.text
    assert answer.headers["etag"] == '"1"' and answer.headers["location"] == schedule.path
    found = await schedule.get()
    assert found["spec"] == spec
    assert found["state"] == "active" and found["revision"] == 1
    assert "02:00" in found["in_words"]
    assert len(found["next"]) == 10


async def test_the_same_again_changes_nothing(schedule: Scheduler) -> None:
    await schedule.made(cron="0 3 * * *")
    again = await schedule.put(cron="0 3 * * *")
    assert (again.status_code, again.headers["etag"]) == (200, '"1"')
    other = await schedule.put(cron="0 4 * * *")
    assert (other.status_code, other.headers["etag"]) == (200, '"2"')
    assert (await schedule.get())["next"][0]["utc"].endswith("T04:00:00Z")


async def test_a_revision_that_is_not_the_one_meant_is_refused(schedule: Scheduler) -> None:
    fresh = await schedule.put({"If-Match": '"1"'}, cron="0 3 * * *")
    assert problem(fresh, 409, "stale-revision")["revision"] == 0
    await schedule.made(cron="0 3 * * *")
    exists = await schedule.put({"If-None-Match": "*"}, cron="0 4 * * *")
    assert problem(exists, 409, "stale-revision")["revision"] == 1
    assert (await schedule.put({"If-Match": '"1"'}, cron="0 4 * * *")).status_code == 200
    stale = await schedule.put({"If-Match": '"1"'}, cron="0 5 * * *")
    assert problem(stale, 409, "stale-revision")["revision"] == 2
    assert "header If-Match" in faults(await schedule.put({"If-Match": "3"}))
    refused = await schedule.http.delete(schedule.path, headers={"If-Match": '"1"'})
    problem(refused, 409, "stale-revision")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"cron": "0 0 30 2 *"}, "/cron"),
        ({"cron": "0 0 * * *", "timezone": "Mars/Olympus"}, "/timezone"),
        ({"cron": ["0 0 * * *", "61 * * * *"]}, "/cron/1"),
        ({"cron": "0 0 * * *", "every": "1h"}, ""),
        ({"cron": "0 0 * * *", "ovelap": "skip"}, "/ovelap"),
        ({"cron": "0 0 * * *", "catch_up": {"window": "9s"}}, "/catch_up/window"),
        ({"cron": "0 0 * * *", "catch_up": {"window": "31d"}}, "/catch_up/window"),
        ({"cron": "0 0 * * *", "max_runs": 0}, "/max_runs"),
        ({"cron": "0 0 * * *", "overlap": "allow", "pause_on_failure": True}, "/pause_on_failure"),
        ({"cron": "0 0 * * *", "pipeline": {"jobs": {"a": {"kind": "noop"}}}}, "/pipeline"),
        ({"cron": "0 0 * * *", "job": {"run_at": "2027-01-01T00:00:00Z"}}, "/job/run_at"),
        ({"cron": "0 0 * * *", "job": {"after": []}}, "/job/after"),
        ({"at": ["2001-01-01T00:00:00Z"]}, ""),
    ],
)
async def test_what_cannot_be_is_refused_at_its_place(
    schedule: Scheduler, fields: dict[str, Any], pointer: str
) -> None:
    answer = await schedule.put(**fields)
    assert pointer in faults(answer), answer.text
    problem(await schedule.http.get(schedule.path), 404, "not-found")


async def test_an_id_that_no_schedule_has(schedule: Scheduler) -> None:
    for command in ("pause", "resume", "trigger", "backfill"):
        fields = {
            "pause": {"reason": "x"},
            "backfill": {"from": "2027-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z"},
        }
        problem(await schedule.tell(command, **fields.get(command, {})), 404, "not-found")
    problem(await schedule.skip("2027-01-01T00:00:00Z"), 404, "not-found")
    problem(await schedule.http.delete(schedule.path), 404, "not-found")
    bad = await schedule.http.put("/v1/schedules/a~b", json=schedule.spec())
    assert list(faults(bad)) == ["path schedule_id"]


async def test_deleted_is_gone_and_the_id_is_free(schedule: Scheduler) -> None:
    await schedule.made(cron="0 3 * * *", note="old")
    assert (await schedule.http.delete(schedule.path)).status_code == 204
    problem(await schedule.http.get(schedule.path), 404, "not-found")
    problem(await schedule.http.delete(schedule.path), 404, "not-found")
    problem(await schedule.tell("pause", reason="x"), 404, "not-found")
    answer = await schedule.put(cron="0 5 * * *")
    assert (answer.status_code, answer.json()["revision"]) == (201, 1)
    assert answer.json()["next"][0]["utc"].endswith("T05:00:00Z")


async def test_schedules_are_listed_by_id_and_narrowed_down(http: httpx2.AsyncClient, queue: str) -> None:
    made = [Scheduler(http, queue, f"list-{queue}-{letter}") for letter in "cabd"]
    for one in made:
        await one.made(cron="0 3 * * *", paused=one.id.endswith("b"), job={"kind": "noop"})

    async def listed(**query: Any) -> list[str]:
        found: list[str] = []
        cursor = None
        while True:
            paging = {"cursor": cursor} if cursor else {}
            answer = await http.get("/v1/schedules", params={"queue": queue, "limit": 2, **query, **paging})
            assert answer.status_code == 200, answer.text
            found += [row["id"][-1] for row in answer.json()["schedules"]]
            if (cursor := answer.json()["next_cursor"]) is None:
                return found

    async def all_are_there() -> bool:
        return len(await listed()) == 4

    await eventually(all_are_there)  # the index is a moment behind
    assert await listed() == ["a", "b", "c", "d"]
    assert await listed(paused=True) == ["b"]
    assert await listed(state="active", kind="noop") == ["a", "c", "d"]
    assert await listed(kind="other") == []
    assert "query cursor" in faults(await http.get("/v1/schedules", params={"cursor": "é"}))
    for one in made:
        await one.http.delete(one.path)


async def test_twenty_edits_at_once_over_two_instances_each_take_effect(
    schedule: Scheduler, other_http: httpx2.AsyncClient, client: Client
) -> None:
    await schedule.made(cron="0 3 * * *")
    other = Scheduler(other_http, schedule.queue, schedule.id)
    edits = [
        (schedule, other)[minute % 2].put(cron=f"{minute} 4 * * *", note=f"edit {minute}")
        for minute in range(20)
    ]
    answers = await asyncio.gather(*edits)
    assert [answer.status_code for answer in answers] == [200] * 20
    now = await schedule.get()
    assert now["revision"] == 21
    # What is kept is what the server fires by, whichever came last.
    described = await client.get_schedule_handle(schedule.id).describe()
    minute = int(now["spec"]["note"].split()[1])
    assert {time.minute for time in described.info.next_action_times} == {minute}


async def test_of_those_who_mean_one_revision_one_has_its_way(
    schedule: Scheduler, other_http: httpx2.AsyncClient
) -> None:
    await schedule.made(cron="0 3 * * *")
    other = Scheduler(other_http, schedule.queue, schedule.id)
    edits = [
        (schedule, other)[minute % 2].put({"If-Match": '"1"'}, cron=f"{minute} 4 * * *")
        for minute in range(8)
    ]
    answers = await asyncio.gather(*edits)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    (winner,) = [answer.json()["spec"]["cron"] for answer in answers if answer.status_code == 200]
    now = await schedule.get()
    assert (now["revision"], now["spec"]["cron"]) == (2, winner)


@pytest.mark.parametrize(
    ("cron", "timezone", "since", "until", "times"),
    [
        (
            "30 2 * * *",
            "America/New_York",
            "2027-03-13T00:00:00Z",
            "2027-03-15T12:00:00Z",
            ["2027-03-13T07:30:00", "2027-03-14T07:00:00", "2027-03-15T06:30:00"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2027-11-06T00:00:00Z",
            "2027-11-08T12:00:00Z",
            ["2027-11-06T05:30:00", "2027-11-07T05:30:00", "2027-11-08T06:30:00"],
        ),
        (
            "0 0 * * *",
            "Europe/London",
            "2027-10-30T00:00:00Z",
            "2027-11-01T12:00:00Z",
            ["2027-10-30T23:00:00", "2027-11-01T00:00:00"],
        ),
    ],
)
async def test_the_server_has_the_times_of_the_rule_where_clocks_change(
    schedule: Scheduler, client: Client, cron: str, timezone: str, since: str, until: str, times: list[str]
) -> None:
    await schedule.made(cron=cron, timezone=timezone)
    start, end = Timestamp(), Timestamp()
    start.FromJsonString(since)
    end.FromJsonString(until)
    found = await client.workflow_service.list_schedule_matching_times(
        ListScheduleMatchingTimesRequest(
            namespace="default", schedule_id=schedule.id, start_time=start, end_time=end
        )
    )
    assert [time.ToDatetime().isoformat() for time in found.start_time] == times


async def test_the_web_ui_shows_the_rule_in_words(schedule: Scheduler, client: Client) -> None:
    await schedule.made(cron="0 2 * * *", note="for the board")
    described = await client.get_schedule_handle(schedule.id).describe()
    assert described.schedule.state.note == "At 02:00 every day, UTC — for the board"


async def test_one_that_somebody_deleted_on_the_server_says_so_and_comes_back(
    schedule: Scheduler, client: Client
) -> None:
    await schedule.made(cron="0 2 * * *")
    await client.get_schedule_handle(schedule.id).delete()
    assert "deleted" in (await schedule.get())["warnings"][0]
    await schedule.made(cron="0 2 * * *")
    assert (await client.get_schedule_handle(schedule.id).describe()).info.next_action_times


async def test_a_schedule_that_is_not_ours_is_left_alone(schedule: Scheduler, client: Client) -> None:
    action = ScheduleActionStartWorkflow("Other", id="other", task_queue="other")
    theirs = await client.create_schedule(
        schedule.id, Schedule(action, ScheduleSpec(intervals=[ScheduleIntervalSpec(timedelta(days=1))]))
    )
    problem(await schedule.put(cron="0 2 * * *"), 409, "id-in-use")
    problem(await schedule.http.get(schedule.path), 404, "not-found")
    await theirs.delete()


async def test_a_job_as_large_as_it_may_be(schedule: Scheduler) -> None:
    payload = {"text": "x" * (255 * 1024)}
    for note in ("one", "two", "three"):
        await schedule.made(cron="0 2 * * *", note=note, job={"payload": payload})
    found = await schedule.get()
    assert found["spec"]["job"]["payload"] == payload
    assert (found["revision"], found["spec"]["note"]) == (3, "three")
    too_large = await schedule.put(cron="0 2 * * *", job={"payload": {"text": "x" * (257 * 1024)}})
    problem(too_large, 413, "too-large")
