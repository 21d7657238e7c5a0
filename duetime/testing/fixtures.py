"""Fixtures for pytest. In a `conftest.py`: `pytest_plugins = ["duetime.testing.fixtures"]`.

They need no plugin for asyncio; tests that are `async def` do.
"""

from collections.abc import Callable, Iterator

import pytest

from duetime.client import Client, SyncClient
from duetime.engine import EmbeddedEngine
from duetime.testing.fake import FakeDuetime
from duetime.testing.running import (
    RunningService,
    ServiceMissing,
    Workers,
    named_service,
    running_engine,
    running_service,
)


@pytest.fixture
def duetime_fake() -> FakeDuetime:
    """Duetime in memory, for this test alone."""
    return FakeDuetime()


@pytest.fixture(scope="session")
def duetime_engine() -> Iterator[EmbeddedEngine]:
    """A real Temporal server in memory (the extra `server`), for the whole session."""
    with running_engine() as engine:
        yield engine


@pytest.fixture(scope="session")
def duetime_service(request: pytest.FixtureRequest) -> Iterator[RunningService]:
    """A real Duetime: the one that `DUETIME_TEST_URL` and `DUETIME_TEST_TEMPORAL` name, else one on `duetime_engine`.

    The latter needs the code of the service, which the package that other projects install does not hold.
    """
    named = named_service()
    if named is not None:
        yield named
        return
    engine: EmbeddedEngine = request.getfixturevalue("duetime_engine")
    try:
        with running_service(engine.address) as service:
            yield service
    except ServiceMissing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def duetime_worker(duetime_service: RunningService) -> Iterator[Callable[..., str]]:
    """`queue = duetime_worker(my.handlers)`: serves them in a thread of this process until the session ends."""
    workers = Workers(duetime_service)
    yield workers
    workers.close()


@pytest.fixture
def duetime_client(duetime_service: RunningService) -> Client:
    """A client of the service, for tests that are `async def`."""
    return Client(duetime_service.url)


@pytest.fixture
def duetime_sync_client(duetime_service: RunningService) -> Iterator[SyncClient]:
    """A client of the service, for other tests."""
    with SyncClient(duetime_service.url) as client:
        yield client
