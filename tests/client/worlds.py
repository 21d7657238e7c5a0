"""The real Duetime and the fake one, with the same handles for a test."""

from contextlib import AsyncExitStack
from typing import Any, Protocol

from temporalio.client import Client as TemporalClient

from duetime import Client, JobView, State
from duetime.testing import FakeDuetime
from tests.support.waiting import eventually
from tests.support.workers import serving


class World(Protocol):
    """What a scenario needs. Every one has a queue of its own, which nobody serves before `serve`."""

    client: Client
    queue: str

    async def serve(self, *handlers: Any) -> None:
        """A worker with these handlers on the queue."""

    async def reaches(self, job_id: str, state: State) -> JobView:
        """The job once it is in this state; handlers of other jobs may run meanwhile."""

    async def submit(self, kind: str, payload: dict[str, Any] | None = None, **fields: Any) -> JobView:
        """A job on the queue."""

    async def finished(self, job_id: str) -> JobView:
        """The job once it is final."""


class _Common:
    client: Client
    queue: str

    async def submit(self, kind: str, payload: dict[str, Any] | None = None, **fields: Any) -> JobView:
        return await self.client.submit(kind, payload, **{"queue": self.queue, **fields})

    async def finished(self, job_id: str) -> JobView:
        return await self.client.wait_for(job_id, "60s")


class RealWorld(_Common):
    """API, engine and workers."""

    def __init__(self, client: Client, queue: str, temporal: TemporalClient) -> None:
        self.client, self.queue, self.temporal = client, queue, temporal
        self._workers = AsyncExitStack()

    async def serve(self, *handlers: Any) -> None:
        await self._workers.enter_async_context(serving(self.temporal, self.queue, *handlers))
        kinds = {handler.__duetime_handler__.kind for handler in handlers}

        async def announced() -> bool:
            known = await self.client.kinds()
            return kinds <= {kind.kind for kind in known for on in kind.queues if on.queue == self.queue}

        await eventually(announced)

    async def reaches(self, job_id: str, state: State) -> JobView:
        async def there() -> JobView | None:
            job = await self.client.get(job_id)
            return job if job.state is state else None

        return await eventually(there)

    async def close(self) -> None:
        await self._workers.aclose()


class FakeWorld(_Common):
    """In memory."""

    def __init__(self, client: Client, queue: str, fake: FakeDuetime) -> None:
        self.client, self.queue, self.fake = client, queue, fake

    async def serve(self, *handlers: Any) -> None:
        self.fake.register(*handlers, queues=[self.queue])

    async def reaches(self, job_id: str, state: State) -> JobView:
        return await self.fake.reach(job_id, state)
