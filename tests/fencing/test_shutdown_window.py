"""What is handed out in the moment of a shutdown goes elsewhere at once, not after a lease."""

import asyncio
from typing import Any

from temporalio.client import Client

from duetime import Job, handler
from tests.support.jobs import Jobs, outcome_of
from tests.support.workers import serving


@handler("quick")
async def quick(payload: dict[str, Any], job: Job) -> int:
    return job.attempt


async def test_nothing_is_lost_between_the_server_and_a_worker_that_leaves(
    jobs: Jobs, client: Client
) -> None:
    """Twenty jobs, each started while its only worker shuts down, at a moment of its own."""
    handles = []
    for milliseconds in range(20):
        async with serving(client, jobs.queue, quick, grace=0.5):
            handles.append(await jobs.start("quick", lease="30s"))
            await asyncio.sleep(milliseconds / 1000)
    async with serving(client, jobs.queue, quick):
        results = await asyncio.gather(*map(outcome_of, handles))
    assert {outcome for result in results for outcome in result.outcomes} <= {"succeeded", "interrupted"}
    assert {result.result for result in results} == {1}
