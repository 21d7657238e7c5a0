"""What tests share: one embedded engine a session; each test takes its own queue and ids."""

import logging
import signal
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
from temporalio.client import Client

from api import patience
from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.support.jobs import Jobs
from workflows.worker import orchestrator


def pytest_configure() -> None:
    """Signals as a terminal gives them: whoever starts the suite in the background has some of them ignored, and the
    processes that tests start would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right does not depend on how busy this machine is; tests of the API's time limit set their own."""
    monkeypatch.setattr(patience, "PATIENCE", 30.0)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The command line and others set up the logs of their process, which in a test is this one."""
    ours, root = logging.getLogger("duetime"), logging.getLogger()
    levels, handlers = (ours.level, root.level), list(root.handlers)
    yield
    for logger, level in zip((ours, root), levels, strict=True):
        if logger.level != level:
            logger.setLevel(level)
    for handler in root.handlers[:]:
        if handler not in handlers and not type(handler).__module__.startswith("_pytest"):
            root.removeHandler(handler)


@pytest.fixture(scope="session")
async def engine() -> AsyncIterator[EmbeddedEngine]:
    """A real Temporal server, in memory."""
    async with EmbeddedEngine(EngineConfig()) as running:
        yield running


@pytest.fixture(scope="session")
async def client(engine: EmbeddedEngine) -> Client:
    """A client with the project's own data converter."""
    return await connect(engine.address)


@pytest.fixture(scope="session")
async def orchestration(client: Client) -> AsyncIterator[None]:
    """A worker for the workflows, for as long as the session lasts."""
    async with orchestrator(client):
        yield


@pytest.fixture
def jobs(client: Client, queue: str, orchestration: None) -> Jobs:
    """Starts jobs on the queue of this test, and reads what became of them."""
    return Jobs(client, queue)


@pytest.fixture
def queue() -> str:
    """A queue of this test alone."""
    return f"q-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def job_id() -> str:
    """A job id of this test alone."""
    return f"job-{uuid.uuid4().hex[:12]}"
