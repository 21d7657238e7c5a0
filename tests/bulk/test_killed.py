"""The worker of the workflows is killed in the middle, and each job is still redriven once.

36 jobs; `DUETIME_BULK_JOBS=1000` makes it as many as one likes.
"""

import os
from collections.abc import AsyncIterator

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.api.conftest import calling, settings
from tests.bulk.conftest import Bulk, fail
from tests.support.waiting import eventually
from tests.support.workers import WorkerProcess, serving
from workflows.worker import orchestrator

JOBS = int(os.environ.get("DUETIME_BULK_JOBS", "36"))

pytestmark = pytest.mark.timeout(120 + JOBS)


@pytest.fixture
async def bare() -> AsyncIterator[Client]:
    """A server of its own, where nobody runs the workflows unless the test has it."""
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        yield await connect(engine.address)


@pytest.fixture
async def bare_http(
    bare: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[httpx2.AsyncClient]:
    data = tmp_path_factory.mktemp("data")
    async with calling(create_app(settings().model_copy(update={"data_dir": data}), bare)) as http:
        yield http


async def test_each_job_runs_once_although_the_worker_is_killed(
    bare: Client, bare_http: httpx2.AsyncClient, queue: str
) -> None:
    bulk = Bulk(bare_http, queue)
    async with serving(bare, queue, *bulk.handlers()):
        async with orchestrator(bare):
            made = await fail(bulk, JOBS)
            # Not mended yet: a canary tells, and nobody else is touched.
            halted = await bulk.ended(await bulk.begin("retry", canary=2), patience=60 + JOBS)
            assert halted["counts"] == {"done": 2, "skipped": 0, "failed": 0, "left": JOBS - 2}, halted
            assert halted["state"] == "halted" and len(halted["lost"]) == 2
            canaries = {lost["id"] for lost in halted["lost"]}
            await bulk.counted(JOBS + 2, state="failed")
        assert bulk.ran == {one: 1 + (one in canaries) for one in made}
        bulk.ran.clear()
        bulk.mended = True
        rate = min(100.0, JOBS / 3)
        begun = await bulk.begin("retry", rate=rate)
        assert begun["state"] == "freezing", "nobody is there to do it, and it is kept"
        first = WorkerProcess(bare.service_client.config.target_host, "nobody", workflows=True)
        try:
            await first.ready()
            await eventually(lambda: len(bulk.ran) >= JOBS // 6, often=True)
        finally:
            await first.kill()
        assert len(bulk.ran) < JOBS, "it was killed too late to show anything"
        async with orchestrator(bare):
            ended = await bulk.ended(begun, patience=60 + JOBS)
            assert ended["counts"] == {"done": JOBS, "skipped": 0, "failed": 0, "left": 0}, ended
            await bulk.counted(JOBS, state="succeeded")
    assert bulk.ran == dict.fromkeys(made, 1)
