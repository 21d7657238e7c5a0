"""What tests share: one embedded engine a session; each test takes its own queue and ids."""

import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.support.jobs import Jobs
from workflows.worker import orchestrator


@pytest.fixture(scope="session")
async def engine() -> AsyncIterator[EmbeddedEngine]:
    """A real Temporal server, in memory."""
    async with EmbeddedEngine(EngineConfig()) as running:
        yield running


@pytest.fixture(scope="session")
async def client(engine: EmbeddedEngine) -> Client:
    """A client with the project's own data converter."""
    return await connect(engine.address)


@pytest.fixture(scope="session")
async def orchestration(client: Client) -> AsyncIterator[None]:
    """A worker for the workflows, for as long as the session lasts."""
    async with orchestrator(client):
        yield


@pytest.fixture
def jobs(client: Client, queue: str, orchestration: None) -> Jobs:
    """Starts jobs on the queue of this test, and reads what became of them."""
    return Jobs(client, queue)


@pytest.fixture
def queue() -> str:
    """A queue of this test alone."""
    return f"q-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def job_id() -> str:
    """A job id of this test alone."""
    return f"job-{uuid.uuid4().hex[:12]}"
