"""The API with keys, over the session's engine."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from api.app import create_app
from tests.security.keyring import Keyring, settings


@contextlib.asynccontextmanager
async def calling(app: FastAPI, address: str = "http://api.example") -> AsyncIterator[httpx2.AsyncClient]:
    """A client of `app` in this process, that calls it by `address`."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=address, timeout=60) as http,
    ):
        yield http


@pytest.fixture(scope="session")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Keyring:
    """The keys of the session's app."""
    return Keyring(tmp_path_factory.mktemp("keys") / "keys.json")


@pytest.fixture(scope="session")
def keyed(client: Client, keyring: Keyring) -> FastAPI:
    """The app with keys."""
    return create_app(settings(api_keys_file=keyring.path), client)


@pytest.fixture(scope="session")
async def http(keyed: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """Somebody far away, without a key."""
    async with calling(keyed) as http:
        yield http


@pytest.fixture
def app_with(client: Client, tmp_path: Any) -> Callable[..., tuple[FastAPI, Keyring]]:
    """Makes an app with keys and settings of its own."""

    def make(**fields: Any) -> tuple[FastAPI, Keyring]:
        keyring = Keyring(tmp_path / "keys.json")
        return create_app(settings(api_keys_file=keyring.path, **fields), client), keyring

    return make
