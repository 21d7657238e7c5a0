"""The API over the session's engine, as callers see attempts and tokens."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.settings import Settings
from tests.api.caller import Caller
from tests.api.conftest import calling


@pytest.fixture
async def api(client: Client, queue: str, orchestration: None) -> AsyncIterator[Caller]:
    async with calling(create_app(Settings.model_construct(), client)) as http:
        yield Caller(http, queue)
