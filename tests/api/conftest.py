"""The API over the session's engine: app, orchestrator, callers, and a worker on the test's own queue."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from temporalio.client import Client

from api import patience
from api.app import create_app
from duetime.settings import Settings
from duetime.worker import Worker
from tests.api.caller import Caller
from tests.api.stage import HANDLERS, STAGE, Stage

#: As the API has it.
REAL_PATIENCE = patience.PATIENCE


def settings() -> Settings:
    """The defaults and the names that tests call, whatever is in the environment of who runs them."""
    return Settings.model_construct(api_names=("api.test", "x"))


@contextlib.asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of `app` in this process, without sockets."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http,
    ):
        yield http


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # Ctrl-C is for pytest.


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    """`app` behind a real HTTP server on the loopback; its base address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False)
    server = _Server(config)
    socket = config.bind_socket()
    running = asyncio.create_task(server.serve([socket]))
    while not server.started:
        await asyncio.sleep(0.01)
        assert not running.done()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await running


@pytest.fixture(scope="session")
async def app(client: Client, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    data = tmp_path_factory.mktemp("data")
    return create_app(settings().model_copy(update={"data_dir": data}), client)


@pytest.fixture(scope="session")
async def http(app: FastAPI, orchestration: None) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the API; a worker for the workflows runs, none for handlers."""
    async with calling(app) as http:
        yield http


@pytest.fixture(scope="session")
async def address(http: httpx2.AsyncClient, app: FastAPI) -> AsyncIterator[str]:
    """The same API behind a real HTTP server."""
    async with serving(app) as address:
        yield address


@pytest.fixture
def api(http: httpx2.AsyncClient, queue: str) -> Caller:
    """A caller whose jobs go to the test's own queue, which nobody polls yet."""
    return Caller(http, queue)


@pytest.fixture
async def worker(api: Caller, client: Client) -> AsyncIterator[Worker]:
    """A worker for the test's own queue."""
    STAGE.loop = asyncio.get_running_loop()
    async with Worker(client, HANDLERS, queues=[api.queue]) as running:
        yield running
        await STAGE.release_all()


@pytest.fixture
def stage() -> Stage:
    return STAGE
