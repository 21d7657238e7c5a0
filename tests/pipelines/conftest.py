"""A queue with handlers that note what they do, served as long as the tests of pipelines last."""

import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from tests.pipelines.support import HANDLERS, Log, Pipelines
from tests.support.workers import serving


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture(scope="package")
async def served(client: Client, orchestration: None) -> AsyncIterator[str]:
    queue = f"pipelines-{uuid.uuid4().hex[:8]}"
    async with serving(client, queue, *HANDLERS, concurrency=100):
        yield queue


@pytest.fixture
def pipelines(client: Client, served: str, log: Log) -> Pipelines:
    """Pipelines on a queue that is served."""
    return Pipelines(client, served, log)
