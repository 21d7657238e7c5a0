"""`PATCH /v1/jobs/{id}` and `:run-now`: another time, another priority, or at once."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.worker import Worker as TemporalWorker

from duetime.worker import Worker
from tests.api.caller import Caller, faults, problem
from tests.api.stage import HANDLERS, Stage
from tests.api.test_submission import instant
from tests.support.jobs import is_queued
from tests.support.waiting import eventually


async def test_a_job_moved_twice_and_run_now_runs_once(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit(delay="1h")
    moved = await api.patch(accepted["id"], run_at="2027-07-15T09:00:00+02:00")
    assert moved.status_code == 200, moved.text
    assert (moved.json()["due_at"], moved.json()["state"]) == ("2027-07-15T07:00:00Z", "scheduled")
    again = await api.patch(accepted["id"], delay="2h")
    wanted = datetime.now(UTC) + timedelta(hours=2)
    assert abs(instant(again.json()["due_at"]) - wanted) < timedelta(minutes=1)
    assert (await api.get(accepted["id"]))["due_at"] == again.json()["due_at"]
    now = await api.command(accepted["id"], "run-now")
    assert now.status_code == 200, now.text
    assert now.json()["state"] in ("queued", "running", "succeeded")
    done = await api.final(accepted["id"])
    assert done["state"] == "succeeded" and len(stage.attempts(accepted["id"])) == 1
    assert instant(done["due_at"]) <= instant(done["started_at"])
    assert done["run_id"] == accepted["run_id"]


async def test_moved_to_earlier_it_runs_at_that_time(api: Caller, worker: Worker) -> None:
    accepted = await api.submit(delay="1h")
    moved = (await api.patch(accepted["id"], delay="1s")).json()
    assert moved["state"] == "scheduled"
    done = await api.final(accepted["id"])
    assert done["due_at"] == moved["due_at"]
    assert instant(done["started_at"]) >= instant(done["due_at"])


async def test_moved_into_the_past_it_runs_at_once(api: Caller, worker: Worker) -> None:
    accepted = await api.submit(delay="1h")
    assert (await api.patch(accepted["id"], run_at="2020-01-01T00:00:00Z")).status_code == 200
    done = await api.final(accepted["id"])
    assert (done["state"], done["due_at"]) == ("succeeded", "2020-01-01T00:00:00Z")


async def test_a_queued_job_goes_back_to_scheduled_and_again(
    api: Caller, client: Client, stage: Stage
) -> None:
    accepted = await api.submit()
    await api.until(accepted["id"], "queued")
    moved = (await api.patch(accepted["id"], delay="1h", priority=1)).json()
    assert (moved["state"], moved["priority"], moved["attempts"]) == ("scheduled", 1, [])
    async with Worker(client, HANDLERS, queues=[api.queue]):
        bystander = await api.submit()
        await api.final(bystander["id"])
        assert (await api.get(accepted["id"]))["state"] == "scheduled", "nobody took it from the queue"
        assert (await api.command(accepted["id"], "run-now")).status_code == 200
        done = await api.final(accepted["id"])
    assert done["state"] == "succeeded" and done["priority"] == 1
    assert len(stage.attempts(accepted["id"])) == len(done["attempts"]) == 1


async def backlog_has(client: Client, queue: str, priorities: set[int]) -> None:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    async with asyncio.timeout(60):
        while True:
            stats = (await client.workflow_service.describe_task_queue(request)).stats_by_priority_key
            if {key for key, found in stats.items() if found.approximate_backlog_count} >= priorities:
                return
            await asyncio.sleep(0.2)


async def test_the_priority_of_queued_jobs_reorders_them(api: Caller, client: Client, stage: Stage) -> None:
    jobs: list[str] = []
    for n in range(4):
        jobs.append((await api.submit("echo", payload={"n": n}))["id"])
        # A job is queued from its first moment on, and in the server's queue a moment later.
        handle = client.get_workflow_handle(jobs[-1])
        await eventually(lambda handle=handle: is_queued(handle))
    assert (await api.patch(jobs[3], priority=1)).json()["priority"] == 1
    assert (await api.patch(jobs[0], priority=5)).json()["priority"] == 5
    await backlog_has(client, api.queue, {1, 3, 5})  # The server moves them within a second.
    async with Worker(client, HANDLERS, queues=[api.queue], concurrency=1):
        done = [await api.final(job_id) for job_id in jobs]
    order = sorted(range(4), key=lambda n: done[n]["attempts"][0]["fencing_token"])
    assert order == [3, 1, 2, 0]
    assert [job["priority"] for job in done] == [5, 3, 3, 1]


async def test_the_priority_of_a_scheduled_job_is_kept(api: Caller) -> None:
    accepted = await api.submit(delay="1h")
    changed = (await api.patch(accepted["id"], priority=5)).json()
    assert (changed["priority"], changed["due_at"]) == (5, accepted["due_at"])


async def test_too_late_names_the_state(api: Caller, worker: Worker, stage: Stage) -> None:
    running = await api.submit("gate")
    await stage.began(running["id"])
    refusal = problem(await api.patch(running["id"], delay="1h"), 409, "wrong-state")
    assert refusal["state"] == "running" and refusal["job"]["id"] == running["id"]
    assert problem(await api.command(running["id"], "run-now"), 409, "wrong-state")["state"] == "running"
    await stage.release(running["id"])
    await api.final(running["id"])
    assert problem(await api.patch(running["id"], priority=1), 409, "wrong-state")["state"] == "succeeded"
    assert problem(await api.command(running["id"], "run-now"), 409, "wrong-state")["state"] == "succeeded"


async def test_a_queued_job_is_not_run_now(api: Caller) -> None:
    accepted = await api.submit()
    await api.until(accepted["id"], "queued")
    assert problem(await api.command(accepted["id"], "run-now"), 409, "wrong-state")["state"] == "queued"


async def test_unknown_ids_are_404(api: Caller, job_id: str) -> None:
    problem(await api.patch(job_id, delay="1h"), 404, "not-found")
    problem(await api.command(job_id, "run-now"), 404, "not-found")


async def test_moves_at_once_end_in_one_of_the_times(api: Caller) -> None:
    accepted = await api.submit(delay="1h")
    times = [f"2027-07-15T{hour:02}:00:00Z" for hour in range(10, 18)]
    answers = await asyncio.gather(*(api.patch(accepted["id"], run_at=time) for time in times))
    assert [answer.status_code for answer in answers] == [200] * len(times)
    assert (await api.get(accepted["id"]))["due_at"] in times


async def test_a_native_back_off_is_cut_short_and_the_budget_stays(
    api: Caller, worker: Worker, stage: Stage
) -> None:
    retry = {"max_attempts": 3, "initial_interval": "1h", "max_interval": "1h"}
    accepted = await api.submit("flaky", payload={"failures": 9}, retry=retry)
    for attempt in (1, 2):
        waiting = await api.until(
            accepted["id"], lambda job, n=attempt: job["state"] == "retrying" and len(job["attempts"]) == n
        )
        assert waiting["attempt"] == attempt
        in_an_hour = instant(waiting["next_attempt_at"]) - datetime.now(UTC)
        assert timedelta(minutes=30) < in_an_hour < timedelta(hours=2)
        assert (await api.command(accepted["id"], "run-now")).status_code == 200
        await stage.began(accepted["id"], attempt + 1)
    done = await api.final(accepted["id"])
    assert (done["state"], done["attempt"], done["error"]["message"]) == ("failed", 3, "failure 3")
    assert [seen.attempt for seen in stage.attempts(accepted["id"])] == [1, 2, 3]
    assert [attempt["error"]["message"] for attempt in done["attempts"]] == [
        "failure 1",
        "failure 2",
        "failure 3",
    ]
    tokens = [attempt["fencing_token"] for attempt in done["attempts"]]
    assert tokens == sorted(set(tokens))


async def test_a_handler_in_another_language_gets_no_more_attempts_either(
    api: Caller, client: Client
) -> None:
    """One that knows nothing of Duetime, so that only the server counts."""
    runs = 0

    @activity.defn(name="foreign")
    async def foreign(payload: Any, job: Any) -> None:
        nonlocal runs
        runs += 1
        raise RuntimeError(f"failure {runs}")

    retry = {"max_attempts": 3, "initial_interval": "1h", "max_interval": "1h"}
    accepted = await api.submit("foreign", retry=retry)
    async with TemporalWorker(client, task_queue=api.queue, activities=[foreign]):
        for attempt in (1, 2):
            await api.until(accepted["id"], lambda job, n=attempt: runs == n and job["state"] == "retrying")
            assert (await api.command(accepted["id"], "run-now")).status_code == 200
        done = await api.final(accepted["id"])
    assert (done["state"], done["error"]["message"], runs) == ("failed", "failure 3", 3)


async def test_a_back_off_of_the_workflow_is_cut_short(api: Caller, worker: Worker, stage: Stage) -> None:
    accepted = await api.submit("sleepy", payload={"snooze": "1h"})
    waiting = await api.until(accepted["id"], "retrying")
    assert waiting["attempts"][0]["outcome"] == "snoozed" and waiting["attempt"] == 0
    assert instant(waiting["next_attempt_at"]) > datetime.now(UTC) + timedelta(minutes=30)
    assert problem(await api.patch(accepted["id"], delay="1h"), 409, "wrong-state")["state"] == "retrying"
    assert (await api.command(accepted["id"], "run-now")).status_code == 200
    done = await api.final(accepted["id"])
    assert (done["state"], done["result"], done["attempt"]) == ("succeeded", "awake", 1)
    assert [attempt["outcome"] for attempt in done["attempts"]] == ["snoozed", "succeeded"]


@pytest.mark.parametrize("fields", [{}, {"timezone": "Europe/Paris"}, {"run_at": None}])
async def test_a_change_of_nothing_is_a_mistake(api: Caller, fields: dict[str, object]) -> None:
    accepted = await api.submit(delay="1h")
    assert faults(await api.patch(accepted["id"], **fields))
