"""Many jobs, made cheaply: started far ahead, so that nothing runs, and ended by the server alone."""

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client

from duetime import attributes
from duetime.contracts.job import JobSpec
from duetime.contracts.limits import ORCHESTRATION_QUEUE

_AT_ONCE = 24


@dataclass(frozen=True)
class Crowd:
    """Jobs on one queue, which is theirs alone."""

    client: Client
    queue: str

    async def start(self, count: int, **fields: Any) -> list[str]:
        """The ids of so many new jobs, due in a day."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def one() -> str:
            async with places:
                return await self.start_one(**fields)

        return list(await asyncio.gather(*(one() for _ in range(count))))

    async def start_one(
        self,
        *,
        due_in: timedelta = timedelta(days=1),
        task_queue: str = ORCHESTRATION_QUEUE,
        **fields: Any,
    ) -> str:
        """One job as the API would start it, without asking the API."""
        spec = JobSpec.model_validate({"kind": "crowd", "queue": self.queue, **fields})
        job_id = f"crowd-{uuid.uuid4().hex}"
        due = datetime.now(UTC) + due_in
        await self.client.start_workflow(
            "Job",
            spec.model_copy(update={"run_at": due.isoformat()}).compact(),
            id=job_id,
            task_queue=task_queue,
            start_delay=max(due_in, timedelta(0)) or None,
            search_attributes=attributes.of_job(spec, due),
        )
        return job_id

    async def end(self, ids: Iterable[str]) -> None:
        """Ends these jobs: the server alone does it, and they are `cancelled`."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(job_id: str) -> None:
            async with places:
                await self.client.get_workflow_handle(job_id).terminate()

        await asyncio.gather(*map(one, ids))

    async def indexed(self, *, running: int | None = None, ended: int | None = None) -> None:
        """Returns when the index has so many of them."""
        wanted = {"=": running, "!=": ended}
        async with asyncio.timeout(60 + (running or 0) / 20):
            for operator, count in wanted.items():
                query = f"DuetimeQueue = '{self.queue}' AND ExecutionStatus {operator} 'Running'"
                while count is not None:
                    if (await self.client.count_workflows(query)).count == count:
                        break
                    await asyncio.sleep(0.05)
