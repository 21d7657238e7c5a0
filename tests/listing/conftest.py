"""The API over the session's engine, called in this process, with a connection of its own."""

import contextlib
from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from api.app import create_app
from duetime.connection import connect
from duetime.engine import EmbeddedEngine
from duetime.settings import Settings
from tests.listing.crowd import Crowd


def make_app(client: Client) -> FastAPI:
    """One API instance with the default settings, whatever the environment says."""
    return create_app(Settings.model_construct(api_names=("api.test",)), client)


@contextlib.asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of `app` in this process, without sockets."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://api.test", timeout=60) as http,
    ):
        yield http


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


@pytest.fixture
def crowd(client: Client, queue: str) -> Crowd:
    return Crowd(client, queue)
