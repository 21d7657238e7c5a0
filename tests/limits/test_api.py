"""What the API tells of jobs that wait for a place, what it takes, and limits of queues."""

import asyncio
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from duetime.contracts.concurrency import LINE, Line, limit_of_key
from tests.operations.bench import Bench, hold, let_go, quick, until
from tests.operations.test_why import follow, only
from workflows import queue_limits


async def test_why_names_those_who_have_the_places(bench: Bench, key: str) -> None:
    limit = {"key": key, "limit": 2}
    async with bench.worker():
        held = [await bench.submit(kind="hold", concurrency=limit, lease="2s") for _ in range(2)]
        for job_id in held:
            await bench.in_state(job_id, "running")
        waits = []
        for count in (1, 2):
            waits.append(await bench.submit(concurrency=limit, queue_timeout="1h"))
            await bench.backlog(running=2, limited=count)
        why = await until(
            lambda: bench.why(waits[1]), lambda why: why["blocked"] and why["blocked"][0].get("position") == 2
        )
        blocked = only(why, "concurrency_limit")
        assert why["state"] == "queued" and why["next_change_at"] is not None
        assert (blocked["key"], blocked["limit"], blocked["held"], blocked["in_line"]) == (key, 2, 2, 2)
        assert sorted(one["id"] for one in blocked["holders"]) == sorted(held)
        assert {one["state"] for one in blocked["holders"]} == {"running"} and "queue" not in blocked
        assert [one["action"] for one in why["suggestions"]] == ["look", "look", "raise_priority"]
        view = await bench.view()
        assert view["health"] == "concurrency_limited" and "2 jobs wait for a place" in view["verdict"]
        assert view["oldest_ready_at"] is None and view["concurrency"] is None
        await follow(bench, why, "raise_priority")
        await until(lambda: bench.why(waits[1]), lambda why: why["blocked"][0].get("position") == 1)
        (look, *_) = (one for one in why["suggestions"] if held[1] in one["path"])
        assert only(await bench.get(look["path"]), "running")["worker"], "who has the place"
        # A forced end gives the place back when the handler has lost its lease: nobody has to find out.
        await bench.post(f"/v1/jobs/{held[0]}:cancel", {"mode": "force"})
        for job_id in waits:
            await bench.in_state(job_id, "succeeded")
        let_go(held[1])
        await bench.in_state(held[1], "succeeded")


async def test_what_waits_can_be_cancelled_moved_and_is_not_hurried(bench: Bench, key: str) -> None:
    limit = {"key": key, "limit": 1}
    async with bench.worker():
        held = await bench.submit(kind="hold", concurrency=limit)
        await bench.in_state(held, "running")
        cancelled, moved = await bench.submit(concurrency=limit), await bench.submit(concurrency=limit)
        await bench.backlog(running=1, limited=2)
        refused = await bench.http.post(f"/v1/jobs/{moved}:run-now")
        assert refused.status_code == 409 and refused.json()["state"] == "queued"
        assert (await bench.post(f"/v1/jobs/{cancelled}:cancel"))["state"] == "cancelled"
        answer = await bench.http.patch(f"/v1/jobs/{moved}", json={"delay": "1h"})
        assert answer.status_code == 200 and answer.json()["state"] == "scheduled", answer.text
        await bench.backlog(running=1, scheduled=1)
        await bench.post(f"/v1/jobs/{moved}:run-now")
        await bench.backlog(running=1, limited=1)
        let_go(held)
        await bench.in_state(moved, "succeeded")


async def test_the_job_submitted_last_says_how_many_and_is_warned(bench: Bench, key: str) -> None:
    async with bench.worker():
        held = [await bench.submit(kind="hold", concurrency={"key": key, "limit": 1}) for _ in range(2)]
        await bench.backlog(running=1, limited=1)

        async def submit(limit: int) -> Any:
            body = {"kind": "quick", "queue": bench.queue, "concurrency": {"key": key, "limit": limit}}
            job = (await bench.http.post("/v1/jobs", json=body)).json()
            return job, [warning for warning in job["warnings"] if "concurrency key" in warning]

        same, none = await submit(1)
        assert none == []
        other, warned = await submit(3)
        assert len(warned) == 1 and "is 1 now; with this job it becomes 3" in warned[0]
        for job_id in held:
            await bench.in_state(job_id, "running")
        for job in (same, other):
            await bench.in_state(job["id"], "succeeded")
        for job_id in held:
            let_go(job_id)


@pytest.mark.parametrize(
    ("concurrency", "pointer"),
    [
        ({"key": "k"}, "/concurrency/limit"),
        ({"key": "k", "limit": 0}, "/concurrency/limit"),
        ({"key": "k", "limit": 1001}, "/concurrency/limit"),
        ({"key": "k", "limit": "3"}, "/concurrency/limit"),
        ({"key": "k", "limit": True}, "/concurrency/limit"),
        ({"key": "", "limit": 1}, "/concurrency/key"),
        ({"key": "é" * 33, "limit": 1}, "/concurrency/key"),
        ({"key": "a\nb", "limit": 1}, "/concurrency/key"),
        ({"key": "k", "limit": 1, "limits": 2}, "/concurrency/limits"),
        (3, "/concurrency"),
    ],
)
async def test_what_is_no_limit_is_refused(bench: Bench, concurrency: Any, pointer: str) -> None:
    answer = await bench.http.post("/v1/jobs", json={"kind": "quick", "concurrency": concurrency})
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == pointer
    if pointer.endswith("limits"):
        assert "did you mean `limit`?" in fault["message"]


# -- limits of queues ---------------------------------------------------------------------------------------------


async def limit_queue(bench: Bench, limit: int) -> Any:
    body = {"limit": limit, "reason": "the provider", "by": "alice"}
    answer = await bench.http.put(f"/v1/queues/{bench.queue}/concurrency", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def obeyed(bench: Bench) -> None:
    """Waits until those who run the workflows know the limits of now."""
    limited = (await bench.view())["concurrency"] is not None
    await until(lambda: asyncio.sleep(0, queue_limits.may_be_limited(bench.queue) is limited))


async def test_a_queue_runs_no_more_than_its_limit(bench: Bench) -> None:
    before = await bench.view()
    assert before["concurrency"] is None
    view = await limit_queue(bench, 2)
    said = view["concurrency"]
    assert (said["limit"], said["reason"], said["by"]) == (2, "the provider", "alice") and said["since"]
    await obeyed(bench)
    async with bench.worker():
        jobs = [await bench.submit(kind="hold") for _ in range(6)]
        await bench.backlog(running=2, limited=4)
        assert (await bench.view())["health"] == "concurrency_limited"
        waiting = [job_id for job_id in jobs if (await bench.job(job_id))["state"] == "queued"]
        why = await bench.blocked_by(waiting[0], "concurrency_limit")
        blocked = only(why, "concurrency_limit")
        assert (blocked["queue"], blocked["limit"], blocked["held"]) == (bench.queue, 2, 2)
        assert "key" not in blocked and len(blocked["holders"]) == 2
        actions = [one["action"] for one in why["suggestions"]]
        assert actions == ["look", "look", "raise_limit", "lift_limit", "raise_priority"]
        await follow(bench, why, "raise_limit")
        await bench.backlog(running=4, limited=2)
        left = [job_id for job_id in waiting if (await bench.job(job_id))["state"] == "queued"]
        await follow(bench, await bench.why(left[0]), "lift_limit")
        await bench.backlog(running=5, queued=1)
        assert (await bench.view())["concurrency"] is None
        for job_id in jobs:
            let_go(job_id)
            await bench.in_state(job_id, "succeeded")
        again = await bench.http.delete(f"/v1/queues/{bench.queue}/concurrency")
        assert again.status_code == 200 and again.json()["concurrency"] is None


async def test_a_job_under_two_limits_has_a_place_of_each(bench: Bench, key: str) -> None:
    await limit_queue(bench, 2)
    await obeyed(bench)
    async with bench.worker(hold, quick):
        held = [await bench.submit(kind="hold", concurrency={"key": key, "limit": 1}) for _ in range(2)]
        await bench.backlog(running=1, limited=1)
        # The one that waits for its key keeps no place of the queue from others.
        other = await bench.submit()
        await bench.in_state(other, "succeeded")
        for job_id in held:
            let_go(job_id)
            await bench.in_state(job_id, "succeeded")


async def test_a_job_that_waits_for_its_second_place_keeps_the_first(
    bench: Bench, key: str, impatient: None
) -> None:
    """However often its limit looks at it, which finds no attempt of it."""
    await limit_queue(bench, 1)
    await obeyed(bench)
    key_limit = bench.client.get_workflow_handle(limit_of_key(key))
    async with bench.worker():
        first = await bench.submit(kind="hold")
        await bench.in_state(first, "running")
        second = await bench.submit(concurrency={"key": key, "limit": 1})
        await bench.blocked_by(second, "concurrency_limit")
        third = await bench.submit(concurrency={"key": key, "limit": 1})

        async def looks() -> int:
            events = [event.event_type async for event in key_limit.fetch_history_events()]
            return events.count(EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)

        await until(looks, lambda count: count >= 3)
        line = Line.model_validate(await key_limit.query(LINE, third))
        assert [holder.job for holder in line.holders] == [second] and line.position == 1
        let_go(first)
        for job_id in (first, second, third):
            await bench.in_state(job_id, "succeeded")


async def test_a_limit_that_is_gone_when_the_job_asks_holds_nobody_up(bench: Bench) -> None:
    """Known to those who run the workflows, and not there any more."""
    queue_limits._known[bench.queue] = frozenset({bench.queue})
    try:
        async with bench.worker():
            job_id = await bench.submit()
            await bench.in_state(job_id, "succeeded")
    finally:
        del queue_limits._known[bench.queue]


async def test_limits_of_queues_are_held_to_their_bounds(bench: Bench) -> None:
    path = f"/v1/queues/{bench.queue}/concurrency"
    for body, pointer in (
        ({"limit": 0, "reason": "x"}, "/limit"),
        ({"limit": 3}, "/reason"),
        ({"limit": 3, "reason": "x", "key": "y"}, "/key"),
    ):
        answer = await bench.http.put(path, json=body)
        assert answer.status_code == 422 and answer.json()["errors"][0]["pointer"] == pointer
