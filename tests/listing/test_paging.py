"""Real lists of the real server: their order, and that they hold while jobs arrive, end and go on."""

import asyncio
import os
import random
from collections import Counter
from datetime import timedelta

import httpx2
import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.listing.crowd import Crowd
from tests.listing.lists import get, ids, listed

#: `DUETIME_LONG_LIST=5000` for a long one.
OLD = int(os.environ.get("DUETIME_LONG_LIST", "300"))
FRESH = OLD // 10


async def test_open_jobs_come_first_then_the_last_ended(
    crowd: Crowd, http: httpx2.AsyncClient, queue: str
) -> None:
    started = [await crowd.start_one() for _ in range(9)]
    ended = [started[3], started[1], started[5]]
    for job_id in ended:
        await crowd.end([job_id])
    await crowd.indexed(running=6, ended=3)
    still = [job_id for job_id in reversed(started) if job_id not in ended]
    for limit in (1, 2, 4, 6, 200):
        assert await ids(http, queue=queue, limit=limit) == [*still, *reversed(ended)]


@pytest.mark.timeout(60 + OLD // 5)
async def test_paging_tells_every_old_job_once_while_others_arrive_and_end(
    crowd: Crowd, http: httpx2.AsyncClient, queue: str
) -> None:
    old = await crowd.start(OLD)
    await crowd.end(old[::3])
    await crowd.indexed(running=len(old) - len(old[::3]), ended=len(old[::3]))
    chance = random.Random(17)
    to_end = [job_id for job_id in old if job_id not in set(old[::3])]
    chance.shuffle(to_end)
    fresh: list[str] = []
    begun = asyncio.Event()

    async def churn() -> None:
        """As many as arrive, and many of the old ones, end while the list is read."""
        await begun.wait()
        for _ in range(FRESH):
            job_id, *_ = await asyncio.gather(crowd.start_one(), crowd.end([to_end.pop(), to_end.pop()]))
            fresh.append(job_id)
            if chance.random() < 0.5:
                await crowd.end([job_id])

    async def between() -> None:
        begun.set()

    churning = asyncio.create_task(churn())
    told = [job["id"] for job in await listed(http, between, queue=queue, limit=max(5, OLD // 40))]
    await churning
    assert [job_id for job_id, times in Counter(told).items() if times > 1] == []
    assert set(old) - set(told) == set()
    assert set(told) - set(old) == set()


async def test_all_may_have_ended_since_the_first_page(
    crowd: Crowd, http: httpx2.AsyncClient, queue: str
) -> None:
    old = await crowd.start(30)
    await crowd.end(old[:10])
    await crowd.indexed(running=20, ended=10)
    page = await get(http, "/v1/jobs", queue=queue, limit=5)
    await crowd.end(old[10:])
    await crowd.indexed(running=0, ended=30)
    jobs = page["jobs"] + await listed(http, queue=queue, limit=5, cursor=page["next_cursor"])
    told = [job["id"] for job in jobs]
    assert sorted(told) == sorted(old)
    assert [job["state"] for job in jobs[:5]] == ["scheduled"] * 5
    assert {job["state"] for job in jobs[5:]} == {"cancelled"}
    assert set(told[20:]) == set(old[:10])


@workflow.defn(name="Job")
class GoesOn:
    """Stands in for a job that has come back so often that it goes on with a fresh history."""

    @workflow.run
    async def run(self, job: dict[str, str]) -> None:
        await workflow.wait_condition(lambda: self._told)
        workflow.continue_as_new(job)

    def __init__(self) -> None:
        self._told = False

    @workflow.signal
    def go_on(self) -> None:
        self._told = True


async def test_a_job_that_goes_on_in_another_run_is_one_job(
    crowd: Crowd, client: Client, workers_client: Client, http: httpx2.AsyncClient, queue: str
) -> None:
    worker = Worker(
        workers_client, task_queue=queue, workflows=[GoesOn], workflow_runner=UnsandboxedWorkflowRunner()
    )
    async with worker:
        oldest = await crowd.start_one(due_in=timedelta(0), task_queue=queue)
        old = [oldest, *[await crowd.start_one() for _ in range(4)]]
        await crowd.indexed(running=5)
        page = await get(http, "/v1/jobs", queue=queue, limit=2)
        await client.get_workflow_handle(oldest).signal("go_on")
        await crowd.indexed(running=5, ended=1)
        rest = await listed(http, queue=queue, limit=2, cursor=page["next_cursor"])
        told = [job["id"] for job in page["jobs"] + rest]
        assert told == list(reversed(old))
        assert (await get(http, "/v1/jobs:count", queue=queue, by="state"))["total"] == 5
        await crowd.end(old)
