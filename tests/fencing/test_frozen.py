"""Workers that take jobs and are not heard of again: frozen ones go on doing so through their open polls."""

from typing import Any

import pytest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import PollActivityTaskQueueRequest
from temporalio.client import Client

from duetime import Job, handler
from tests.api.caller import Caller
from tests.support.jobs import NO_WAIT
from tests.support.workers import serving


@handler("quick")
async def quick(payload: dict[str, Any], job: Job) -> int:
    return job.attempt


async def swallow(client: Client, queue: str, identity: str) -> None:
    """Takes one job as a worker would, and does nothing with it."""
    request = PollActivityTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), identity=identity
    )
    while not (await client.workflow_service.poll_activity_task_queue(request)).task_token:
        pass


@pytest.mark.parametrize("times", [2, pytest.param(9, marks=pytest.mark.faults)])
async def test_what_nobody_acknowledged_costs_no_attempt(api: Caller, client: Client, times: int) -> None:
    """Every one of them is told all the same, with its worker and its token."""
    job_id = (await api.submit("quick", lease="2s", retry=NO_WAIT | {"max_attempts": 1}))["id"]
    for number in range(times):
        await swallow(client, api.queue, f"frozen-{number}")
    async with serving(client, api.queue, quick):
        job = await api.final(job_id)
    assert (job["state"], job["result"], job["attempt"]) == ("succeeded", 1, 1)
    attempts = job["attempts"]
    assert [attempt["outcome"] for attempt in attempts] == ["lease_lost"] * times + ["succeeded"]
    assert [attempt["worker"] for attempt in attempts[:-1]] == [f"frozen-{n}" for n in range(times)]
    tokens = [attempt["fencing_token"] for attempt in attempts]
    assert tokens == sorted(set(tokens))


@pytest.mark.faults
async def test_ten_in_a_row_fail_the_job(api: Caller, client: Client) -> None:
    """A job that kills its workers before anybody hears of it must not go round for ever."""
    job_id = (await api.submit("quick", lease="2s", retry=NO_WAIT))["id"]
    for number in range(10):
        await swallow(client, api.queue, f"frozen-{number}")
    job = await api.final(job_id)
    assert (job["state"], job["error"]["type"], job["attempt"]) == ("failed", "WorkerLost", 0)
    assert [attempt["worker"] for attempt in job["attempts"]] == [f"frozen-{n}" for n in range(10)]
    assert {attempt["outcome"] for attempt in job["attempts"]} == {"lease_lost"}
