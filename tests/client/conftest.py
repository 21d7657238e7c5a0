"""A real API for clients, and the two worlds that the conformance suite runs in."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client as TemporalClient

import duetime
from api.app import create_app
from duetime.testing import FakeDuetime
from tests.api.conftest import serving, settings
from tests.client.worlds import FakeWorld, RealWorld, World


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DUETIME_URL", "DUETIME_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
async def api_url(client: TemporalClient, orchestration: None) -> AsyncIterator[str]:
    """The API over the session's engine, behind a real HTTP server. It looks kinds up anew at every call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("api.kinds.known.FRESH", 0.0)
        patch.setattr("api.kinds.known.FRESH_ENOUGH_TO_MISS", 0.0)
        async with serving(create_app(settings(), client)) as url:
            yield url


@pytest.fixture
async def real(api_url: str, client: TemporalClient, queue: str) -> AsyncIterator[RealWorld]:
    async with duetime.Client(api_url) as http:
        world = RealWorld(http, queue, client)
        try:
            yield world
        finally:
            await world.close()


@pytest.fixture
async def fake(queue: str) -> AsyncIterator[FakeWorld]:
    duetime_fake = FakeDuetime()
    async with duetime_fake.client() as http:
        yield FakeWorld(http, queue, duetime_fake)


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest) -> World:
    """Each in turn: what holds for one holds for the other."""
    found: World = request.getfixturevalue(request.param)
    return found
