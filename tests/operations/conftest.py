"""A server of its own for this group, whose totals nobody else's jobs disturb, and the API over it."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from temporalio.client import Client

from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.listing.conftest import calling, make_app
from tests.operations.bench import Bench
from workflows.worker import orchestrator


@pytest.fixture(scope="session")
async def engine() -> AsyncIterator[EmbeddedEngine]:
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as running:
        yield running


@pytest.fixture(scope="session")
async def client(engine: EmbeddedEngine) -> Client:
    return await connect(engine.address)


@pytest.fixture(scope="session")
async def http(client: Client) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(make_app(client)) as http:
        yield http


@pytest.fixture(scope="session")
async def orchestrated(client: Client) -> AsyncIterator[None]:
    """Somebody runs the workflows."""
    async with orchestrator(client):
        yield


@pytest.fixture
async def bench(
    client: Client, http: httpx2.AsyncClient, queue: str, orchestrated: None
) -> AsyncIterator[Bench]:
    """Jobs on a queue of their own, which are ended afterwards."""
    bench = Bench(client, http, queue)
    yield bench
    await asyncio.gather(*(bench.end(job_id) for job_id in bench.made))


# A second server, where nobody runs the workflows unless a test does.


@pytest.fixture(scope="session")
async def bare() -> AsyncIterator[EmbeddedEngine]:
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as running:
        yield running


@pytest.fixture(scope="session")
async def bare_client(bare: EmbeddedEngine) -> Client:
    return await connect(bare.address)


@pytest.fixture(scope="session")
async def bare_http(bare_client: Client) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(make_app(bare_client)) as http:
        yield http


@pytest.fixture
async def alone(bare_client: Client, bare_http: httpx2.AsyncClient, queue: str) -> AsyncIterator[Bench]:
    bench = Bench(bare_client, bare_http, queue)
    yield bench
    await asyncio.gather(*(bench.end(job_id) for job_id in bench.made))
