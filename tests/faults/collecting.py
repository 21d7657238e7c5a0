"""From a world to the evidence that the checker judges."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from tests.faults import receiver
from tests.faults.checker import Accepted, Evidence, Silence
from tests.faults.world import World


async def collect(
    world: World,
    accepted: Sequence[Accepted],
    *,
    submitted: Iterable[str] = (),
    silences: Iterable[Silence] = (),
) -> Evidence:
    """What there is to be seen of these jobs, each as it is now."""
    gate = asyncio.Semaphore(8)

    async def look(job_id: str) -> tuple[str, dict[str, Any] | None]:
        async with gate:
            answer = await world.http.get(f"{world.apis[0].url}/v1/jobs/{job_id}")
        assert answer.status_code in (200, 404), answer.text
        return job_id, answer.json() if answer.status_code == 200 else None

    found = await asyncio.gather(*(look(job.id) for job in accepted))
    tables = {}
    for name, table in (("deliveries", receiver.DELIVERIES), ("writes", receiver.WRITES)):
        tables[name] = {
            ledger: [dict(row) for row in await asyncio.to_thread(receiver.rows, url, table)]
            for ledger, url in world.ledgers.items()
        }
    return Evidence(
        accepted=list(accepted),
        submitted={job.id for job in accepted} | set(submitted),
        jobs={job_id: job for job_id, job in found if job is not None},
        told=await asyncio.to_thread(world.journal),
        deliveries=tables["deliveries"],
        writes=tables["writes"],
        silences=list(silences),
        wall=world.wall,
    )
