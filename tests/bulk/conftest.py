"""The API over the session's engine, and jobs that fail until they are mended."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from api.app import create_app
from duetime import Job, Reject, handler
from duetime.worker import Worker
from tests.api.conftest import calling, settings
from tests.support.waiting import eventually
from tests.support.workers import serving

Json = dict[str, Any]


@pytest.fixture(scope="session")
async def app(client: Client, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    data = tmp_path_factory.mktemp("data")
    return create_app(settings().model_copy(update={"data_dir": data}), client)


@pytest.fixture(scope="session")
async def http(app: FastAPI, orchestration: None) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(app) as http:
        yield http


class Bulk:
    """Jobs of one test, on its queue, and operations on them."""

    def __init__(self, http: httpx2.AsyncClient, queue: str) -> None:
        self.http, self.queue = http, queue
        #: How often each job ran.
        self.ran: dict[str, int] = {}
        #: Whether the fault is mended, and of which jobs it never is.
        self.mended = False
        self.hopeless: set[str] = set()

    def handlers(self) -> list[Any]:
        @handler("bulk.work")
        async def work(payload: Json, job: Job) -> str:
            self.ran[job.id] = self.ran.get(job.id, 0) + 1
            if not self.mended or job.id in self.hopeless:
                raise Reject("not mended")
            return "done"

        @handler("bulk.breaks")
        async def breaks(payload: Json, job: Job) -> None:
            self.ran[job.id] = self.ran.get(job.id, 0) + 1
            raise ConnectionError("hung up")

        return [work, breaks]

    async def submit(self, count: int, kind: str = "bulk.work", **fields: Any) -> list[str]:
        """Jobs on the queue; their ids."""
        made = [f"{self.queue}-{kind[5:]}-{number}" for number in range(count)]
        retry = {"max_attempts": 1}
        jobs = [{"kind": kind, "queue": self.queue, "id": one, "retry": retry, **fields} for one in made]
        for at in range(0, count, 1000):
            answer = await self.http.post("/v1/jobs:batch", json={"jobs": jobs[at : at + 1000]}, timeout=600)
            assert {item["status"] for item in answer.json()["jobs"]} == {201}, answer.text
        return made

    async def counted(self, number: int, **filters: Any) -> None:
        """Waits until the index has so many jobs of the queue in a state."""

        async def there() -> bool:
            answer = await self.http.get("/v1/jobs:count", params={"queue": self.queue, **filters})
            return bool(answer.json()["total"] == number)

        await eventually(there, patience=600)

    async def post(self, action: str, **body: Any) -> httpx2.Response:
        body["filter"] = {"queue": self.queue, **body.get("filter", {})}
        headers = {"Idempotency-Key": body.pop("key")} if "key" in body else {}
        return await self.http.post(f"/v1/jobs:{action}", json=body, headers=headers)

    async def begin(self, action: str, **body: Any) -> Json:
        answer = await self.post(action, **body)
        assert answer.status_code == 202, answer.text
        assert answer.headers["Location"] == answer.json()["links"]["self"]
        return dict(answer.json())

    async def get(self, operation: Json) -> Json:
        answer = await self.http.get(operation["links"]["self"])
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def command(self, operation: Json, name: str, **body: Any) -> httpx2.Response:
        return await self.http.post(f"{operation['links']['self']}:{name}", json=body)

    async def until(self, operation: Json, *states: str, patience: float = 60) -> Json:
        """The operation once it is in one of these states; its counts always add up."""

        async def there() -> Json | None:
            now = await self.get(operation)
            assert sum(now["counts"].values()) == now["total"], now
            return now if now["state"] in states else None

        found = await eventually(there, patience)
        assert found is not None
        return found

    async def ended(self, operation: Json, patience: float = 60) -> Json:
        return await self.until(
            operation, "done", "halted", "stopped", "failed", "expired", patience=patience
        )


@pytest.fixture
def bulk(http: httpx2.AsyncClient, queue: str) -> Bulk:
    return Bulk(http, queue)


@pytest.fixture
async def worker(bulk: Bulk, client: Client) -> AsyncIterator[Worker]:
    async with serving(client, bulk.queue, *bulk.handlers()) as running:
        yield running


async def fail(bulk: Bulk, count: int, kind: str = "bulk.work", **fields: Any) -> list[str]:
    """Jobs that have failed."""
    before = (await bulk.http.get("/v1/jobs:count", params={"queue": bulk.queue, "state": "failed"})).json()
    made = await bulk.submit(count, kind, **fields)
    await bulk.counted(before["total"] + count, state="failed")
    return made


async def states(bulk: Bulk, ids: list[str]) -> list[str]:
    answers = await asyncio.gather(*(bulk.http.get(f"/v1/jobs/{one}") for one in ids))
    return [answer.json()["state"] for answer in answers]
