"""The API with pipelines over the session's engine, and handlers that tests steer."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from duetime.worker import Worker
from tests.api.caller import FINAL
from tests.api.conftest import address, api, app, http, stage, worker
from tests.api.stage import HANDLERS, PATIENCE, STAGE, Stage
from tests.support.waiting import gap

__all__ = ["address", "api", "app", "http", "stage", "worker"]

Json = dict[str, Any]


class Pipelines:
    """Calls the API about pipelines; jobs go to the test's own queue unless they say."""

    def __init__(self, http: httpx2.AsyncClient, queue: str) -> None:
        self.http = http
        self.queue = queue

    def jobs(self, jobs: Json) -> Json:
        """The jobs with the test's queue; `None` is a job of the kind `echo`, text of that kind."""

        def one(job: Any) -> Json:
            told = {"kind": "echo"} if job is None else {"kind": job} if isinstance(job, str) else job
            return {"kind": "echo", "queue": self.queue, **told}

        return {name: one(job) for name, job in jobs.items()}

    async def post(self, jobs: Json, fields: Json | None = None, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = {"jobs": self.jobs(jobs), **(fields or {})}
        return await self.http.post("/v1/pipelines", json=body, headers=named)

    async def submit(self, jobs: Json, **fields: Any) -> Json:
        """A pipeline that must be accepted, as it was answered."""
        answer = await self.post(jobs, fields)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def get(self, pipeline_id: str) -> Json:
        answer = await self.http.get(f"/v1/pipelines/{pipeline_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def command(self, pipeline_id: str, name: str, **fields: Any) -> httpx2.Response:
        return await self.http.post(
            f"/v1/pipelines/{pipeline_id}:{name}", **({"json": fields} if fields else {})
        )

    async def final(self, pipeline_id: str) -> Json:
        """The pipeline once it is final."""
        path = f"/v1/pipelines/{pipeline_id}/result?wait=20s"
        async with asyncio.timeout(PATIENCE):
            while (answer := await self.http.get(path)).status_code == 202:
                pass
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def until(self, pipeline_id: str, fact: Callable[[Json], Any]) -> Json:
        """The pipeline once `fact` holds of it."""
        found: Json = {}
        since = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(PATIENCE):
                while not fact(found := await self.get(pipeline_id)):
                    assert found["state"] not in FINAL, f"it ended before: {found}"
                    await asyncio.sleep(gap(asyncio.get_running_loop().time() - since))
        except TimeoutError:
            raise AssertionError(f"never so: {found}") from None
        return found


def states(pipeline: Json) -> dict[str, str]:
    return {name: job["state"] for name, job in pipeline["jobs"].items()}


@pytest.fixture
def pipelines(http: httpx2.AsyncClient, queue: str) -> Pipelines:
    """A caller whose jobs go to the test's own queue, which nobody polls yet."""
    return Pipelines(http, queue)


@pytest.fixture(scope="session")
async def served_queue(client: Client) -> AsyncIterator[str]:
    """A queue with a worker for all tests: jobs have ids of their own, and starting and stopping one takes a while."""
    STAGE.loop = asyncio.get_running_loop()
    queue = f"q-{uuid.uuid4().hex[:12]}"
    async with Worker(client, HANDLERS, queues=[queue], concurrency=100):
        yield queue
        await STAGE.release_all()


@pytest.fixture
async def serving(pipelines: Pipelines, served_queue: str) -> AsyncIterator[Stage]:
    """A worker for the jobs of this test; its handlers wait for the stage."""
    pipelines.queue = served_queue
    yield STAGE
    await STAGE.release_all()
