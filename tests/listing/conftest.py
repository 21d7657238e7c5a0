"""The API over the session's engine, called in this process. Workers here have a connection of their own."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from api.app import create_app
from duetime.connection import connect
from duetime.engine import EmbeddedEngine
from duetime.settings import Settings
from duetime.worker import Worker
from tests.listing.crowd import Crowd
from tests.listing.handlers import HANDLERS, RELEASED
from workflows.worker import orchestrator


def make_app(client: Client) -> FastAPI:
    """One API instance with the default settings, whatever the environment says."""
    return create_app(Settings.model_construct(api_names=("api.test",)), client)


@contextlib.asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of `app` in this process, without sockets."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http,
    ):
        yield http


@pytest.fixture(scope="session")
async def workers_client(engine: EmbeddedEngine) -> Client:
    """For workers: two on one queue need a connection each."""
    return await connect(engine.address)


@pytest.fixture(scope="session")
async def http(client: Client) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of one API instance."""
    async with calling(make_app(client)) as http:
        yield http


@pytest.fixture(scope="session")
async def other_http(engine: EmbeddedEngine) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of another API instance, which shares nothing with the first but the server."""
    async with calling(make_app(await connect(engine.address))) as http:
        yield http


@pytest.fixture(scope="session")
async def orchestrated(workers_client: Client) -> AsyncIterator[None]:
    """A worker for the workflows."""
    async with orchestrator(workers_client):
        yield


@pytest.fixture
async def worker(workers_client: Client, queue: str, orchestrated: None) -> AsyncIterator[Worker]:
    """A worker for the test's own queue."""
    async with Worker(workers_client, HANDLERS, queues=[queue]) as running:
        yield running
        for released in RELEASED.values():
            released.set()


@pytest.fixture
def crowd(client: Client, queue: str) -> Crowd:
    return Crowd(client, queue)


@pytest.fixture
def submit(http: httpx2.AsyncClient, queue: str) -> Any:
    """Submits a job to the test's own queue; its id."""

    async def submit(kind: str, **fields: Any) -> str:
        answer = await http.post("/v1/jobs", json={"kind": kind, "queue": queue, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    return submit
