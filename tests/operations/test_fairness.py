"""One tenant's flood does not hold up another's single job."""

import asyncio

from tests.operations.bench import BEGUN, Bench

FLOOD = 300


async def test_a_tenant_with_one_job_starts_within_a_few_dispatches(bench: Bench) -> None:
    places = asyncio.Semaphore(16)

    async def submit() -> str:
        async with places:
            return await bench.submit(fairness_key="tenant-with-many")

    flood = await asyncio.gather(*(submit() for _ in range(FLOOD)))
    await bench.backlog(queued=FLOOD)
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
