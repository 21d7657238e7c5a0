"""The API over the session's server, jobs on a queue of the test's own, and a key of its own."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest
from temporalio.client import Client

from tests.listing.conftest import calling, make_app
from tests.operations.bench import Bench
from workflows import places


@pytest.fixture(scope="session")
async def http(client: Client) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(make_app(client)) as http:
        yield http


@pytest.fixture
async def bench(
    client: Client, http: httpx2.AsyncClient, queue: str, orchestration: None
) -> AsyncIterator[Bench]:
    bench = Bench(client, http, queue)
    yield bench
    await asyncio.gather(*(bench.end(job_id) for job_id in bench.made))


@pytest.fixture
def key() -> str:
    return f"tenant {uuid.uuid4().hex[:12]}/é"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits look after those that have a place every moment."""
    monkeypatch.setattr(places, "FIRST_LOOK", timedelta(seconds=1))
    monkeypatch.setattr(places, "LONGEST_LOOK_AWAY", timedelta(seconds=1))
