"""The whole of Duetime for a test session: the embedded engine, the service's own worker, and the API."""

import asyncio
import importlib.util
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from duetime.client import SyncClient
from duetime.client.portal import Portal
from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.engine.child import Child
from duetime.engine.ports import LOOPBACK, free_port
from duetime.engine.probes import answers_200
from duetime.handlers import find_handlers
from duetime.worker import Worker

URL_VARIABLE, TEMPORAL_VARIABLE = "DUETIME_TEST_URL", "DUETIME_TEST_TEMPORAL"

_READY_TIMEOUT = 60.0
_STOP_GRACE = 10.0


class ServiceMissing(RuntimeError):
    """The code of the service is not here, and no running one is named."""


@dataclass(frozen=True)
class RunningService:
    """Where a running Duetime is: its API's URL, and the Temporal frontend as `host:port`."""

    url: str
    temporal: str


@contextmanager
def running_engine() -> Iterator[EmbeddedEngine]:
    """A Temporal server in memory. From the main thread, in no event loop."""
    engine = EmbeddedEngine(EngineConfig(ui_port=None))
    asyncio.run(engine.start())
    try:
        yield engine
    finally:
        asyncio.run(engine.stop())


def named_service() -> RunningService | None:
    """The one that the environment names, if it does."""
    url, temporal = os.environ.get(URL_VARIABLE), os.environ.get(TEMPORAL_VARIABLE)
    return RunningService(url, temporal) if url and temporal else None


@contextmanager
def running_service(temporal: str) -> Iterator[RunningService]:
    """The API and the worker for workflows, as processes of their own, over the Temporal frontend at `temporal`."""
    if not all(map(importlib.util.find_spec, ("api", "workflows", "worker"))):
        raise ServiceMissing(
            "the code of Duetime's service is not installed here: install its repository with "
            f"`pip install -e '.[service]'`, or name a running one in {URL_VARIABLE} and {TEMPORAL_VARIABLE}"
        )
    port = free_port()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    env = clean | {
        "DUETIME_TEMPORAL_ADDRESS": temporal,
        "DUETIME_API_PORT": str(port),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    # It runs the workflows; on its queue for handlers nobody puts anything.
    programs = {
        "worker": ["-m", "worker", "--queues", f"nothing-{secrets.token_hex(4)}"],
        "api": ["-m", "api"],
    }
    children = [Child(name, [sys.executable, *argv], env=env) for name, argv in programs.items()]
    service = RunningService(f"http://{LOOPBACK}:{port}", temporal)
    try:
        asyncio.run(_ready(service, children))
        yield service
    finally:
        asyncio.run(_stop(children))


async def _ready(service: RunningService, children: list[Child]) -> None:
    async with asyncio.timeout(_READY_TIMEOUT):
        while not await answers_200(f"{service.url}/readyz"):
            for child in children:
                if not child.running:
                    words = "\n    ".join(child.last_words)
                    raise RuntimeError(f"{child.name} ended at its start; its last lines:\n    {words}")
            await asyncio.sleep(0.05)


async def _stop(children: list[Child]) -> None:
    await asyncio.gather(*(child.stop(_STOP_GRACE) for child in children))


class Workers:
    """Starts workers on queues of their own, in a thread of its own. Each set of handlers has one worker."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._portal = Portal("duetime-workers")
        self._queues: dict[tuple[Any, ...], str] = {}
        self._running: list[Worker] = []

    def __call__(self, *handlers: Any) -> str:
        """The queue on which these handlers (functions, modules, or names of modules) are served."""
        found = find_handlers(handlers)
        served = tuple(sorted((kind, id(handler.function)) for kind, handler in found.items()))
        if served not in self._queues:
            queue = f"test-{secrets.token_hex(6)}"
            self._running.append(self._portal.call(self._start(found, queue)))
            self._until(lambda client: all(_is_served(client, kind, queue) for kind in found))
            self._queues[served] = queue
        return self._queues[served]

    def close(self) -> None:
        """Stops them all."""
        for worker in self._running:
            self._portal.call(worker.__aexit__(None, None, None))
        self._portal.stop()

    async def _start(self, handlers: Any, queue: str) -> Worker:
        client = await connect(self._service.temporal)
        return await Worker(client, handlers, queues=[queue]).__aenter__()

    def _until(self, fact: Callable[[SyncClient], bool]) -> None:
        """Until the API knows of it, so that defaults and schemas of these handlers hold."""
        with SyncClient(self._service.url) as client:
            while not fact(client):
                self._portal.call(asyncio.sleep(0.1))


def _is_served(client: SyncClient, kind: str, queue: str) -> bool:
    return any(on.queue == queue for known in client.kinds() if known.kind == kind for on in known.queues)
