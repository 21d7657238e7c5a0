"""One tenant's flood does not hold up another's single job.

A flood of 120; `DUETIME_FLOOD_JOBS=2000` makes it as many as one likes.
"""

import asyncio
import os
from datetime import datetime

import pytest

from tests.operations.bench import BEGUN, Bench
from workflows.worker import orchestrator

FLOOD = int(os.environ.get("DUETIME_FLOOD_JOBS", "120"))
#: Seconds until the server has taken a flood to its queues, however busy this machine is.
PATIENCE = 30 + FLOOD / 5

pytestmark = pytest.mark.timeout(60 + FLOOD)


async def test_a_tenant_with_one_job_starts_within_a_few_dispatches(bench: Bench) -> None:
    places = asyncio.Semaphore(16)

    async def submit() -> str:
        async with places:
            return await bench.submit(fairness_key="tenant-with-many")

    flood = await asyncio.gather(*(submit() for _ in range(FLOOD)))
    await bench.backlog(PATIENCE, queued=FLOOD)
    lone = await bench.submit(fairness_key="tenant-with-one")
    await bench.backlog(queued=FLOOD + 1)
    groups = {
        group["name"]: group["jobs"] for group in (await bench.get("/v1/backlog?by=fairness_key"))["groups"]
    }
    assert groups["tenant-with-many"]["queued"] == FLOOD and groups["tenant-with-one"]["queued"] == 1
    async with bench.worker(concurrency=1):
        await bench.in_state(lone, "succeeded")
    before = BEGUN.index(lone) - min(BEGUN.index(job_id) for job_id in flood if job_id in BEGUN)
    assert before <= 10, f"{before} jobs of the other tenant came first"


async def test_the_queue_of_the_workflows_is_shared_out_too(alone: Bench) -> None:
    """What has not had its first workflow task is in no queue of jobs yet."""
    places = asyncio.Semaphore(16)

    async def submit() -> str:
        async with places:
            return await alone.submit(fairness_key="tenant-with-many")

    flood = await asyncio.gather(*(submit() for _ in range(FLOOD // 2)))
    lone = await alone.submit(fairness_key="tenant-with-one")
    async with orchestrator(
        alone.client, max_concurrent_workflow_tasks=2, max_concurrent_workflow_task_polls=2
    ):
        await alone.backlog(PATIENCE, queued=FLOOD // 2 + 1)
    begun = await asyncio.gather(*(_first_task(alone, job_id) for job_id in [lone, *flood]))
    before = sum(one < begun[0] for one in begun)
    assert before <= 10, f"{before} jobs of the other tenant came first"


async def _first_task(bench: Bench, job_id: str) -> datetime:
    history = await bench.client.get_workflow_handle(job_id).fetch_history()
    return next(
        event.event_time.ToDatetime()
        for event in history.events
        if event.HasField("workflow_task_started_event_attributes")
    )
