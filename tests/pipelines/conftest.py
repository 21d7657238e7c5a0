"""A queue with handlers that note what they do."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from tests.pipelines.support import Log, Pipelines, handlers
from tests.support.workers import serving


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
async def pipelines(client: Client, queue: str, orchestration: None, log: Log) -> AsyncIterator[Pipelines]:
    """Pipelines on the queue of this test, which is served."""
    async with serving(client, queue, *handlers(log), concurrency=100):
        yield Pipelines(client, queue)
