from collections.abc import AsyncIterator

import pytest

from duetime.engine import EmbeddedEngine, EngineConfig


@pytest.fixture(scope="session")
async def engine() -> AsyncIterator[EmbeddedEngine]:
    """One engine in memory for the tests that leave it as they found it."""
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as running:
        yield running
