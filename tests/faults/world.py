"""A small installation of real processes that can be killed one by one: server, API instances, workers, databases.

What must not be lost is kept outside of them: journals of their own files, and the two databases that have the effects.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from temporalio.client import Client

from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.engine.child import Child
from duetime.engine.ports import free_port
from duetime.runtime import clock
from tests.faults import receiver
from tests.faults.journal import read_journals
from tests.support.postgres import PostgresServer
from tests.support.proxy import Proxy, proxy_to
from tests.support.waiting import eventually
from workflows.worker import orchestrator

ROOT = Path(__file__).parents[2]
#: Short enough to see many lost leases in a minute, long enough for two shared processors.
LEASE = 4.0
QUEUE = "faults"
_KEPT_LINES = 400


@dataclass
class Process:
    """One program that is started again and again, under a new pid each time."""

    name: str
    argv: Sequence[str]
    env: dict[str, str]
    child: Child | None = None
    pids: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.child = Child(self.name, self.argv, env=self.env, on_line=self._line)
        self.pids.append(self.child.pid)

    def _line(self, line: str) -> None:
        self.lines.append(line)
        del self.lines[:-_KEPT_LINES]

    @property
    def running(self) -> Child:
        assert self.child is not None
        return self.child

    async def kill(self) -> None:
        if self.child is not None:
            self.child.signal(signal.SIGCONT)
            await self.child.kill()
            self.child = None

    async def terminate(self) -> int:
        """Asks it to end, and waits for that."""
        self.running.signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.running.wait(), 60)
        self.child = None
        return code

    def freeze(self) -> None:
        """As a suspended machine would; it is stopped when this returns."""
        os.kill(self.running.pid, signal.SIGSTOP)
        while _state_of(self.running.pid) != "T":
            time.sleep(0.001)

    def thaw(self) -> None:
        self.running.signal(signal.SIGCONT)


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@dataclass
class Api(Process):
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass
class WorkerSlot(Process):
    """A worker behind a proxy of its own."""

    proxy: Proxy = field(default_factory=lambda: Proxy(":0"))

    @property
    def identity(self) -> str:
        return f"{self.running.pid}@{os.uname().nodename}"

    def says(self, text: str) -> bool:
        return any(text in line for line in self.lines)


@dataclass
class World:
    folder: Path
    engine: EmbeddedEngine
    postgres: PostgresServer
    ledgers: dict[str, str]
    client: Client
    apis: list[Api]
    workers: list[WorkerSlot]
    http: httpx2.AsyncClient
    #: What to add to the machine's time since its boot to have the wall clock, the server's as well.
    wall: float = field(default_factory=lambda: time.time() - clock.now())

    async def ready(self, *workers: WorkerSlot) -> None:
        """The API instances answer, and these workers poll."""
        for api in self.apis:
            await eventually(lambda api=api: self.is_ready(api))
        for slot in workers:
            await eventually(lambda slot=slot: slot.says("serving") or not slot.running.running)
            assert slot.running.running, "\n".join(slot.lines)

    async def is_ready(self, api: Api) -> bool:
        try:
            return (await self.http.get(f"{api.url}/readyz", timeout=5)).status_code == 200
        except httpx2.HTTPError:
            return False

    async def post(self, path: str, body: Any = None, *, api: int = 0, **headers: str) -> httpx2.Response:
        return await self.http.post(f"{self.apis[api].url}{path}", json=body, headers=headers)

    async def submit(self, kind: str, payload: Any = None, **fields: Any) -> str:
        """A job that must be accepted: its id."""
        job = {"kind": kind, "queue": QUEUE, "payload": payload or {}, "lease": f"{LEASE}s", **fields}
        answer = await self.post("/v1/jobs", job)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def job(self, job_id: str) -> dict[str, Any]:
        answer = await self.http.get(f"{self.apis[0].url}/v1/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def final(self, job_id: str, patience: float = 120.0) -> dict[str, Any]:
        async with asyncio.timeout(patience):
            while True:
                url = f"{self.apis[0].url}/v1/jobs/{job_id}/result?wait=20s"
                answer = await self.http.get(url, timeout=40)
                if answer.status_code == 200:
                    return dict(answer.json())
                assert answer.status_code == 202, answer.text

    def journal(self, event: str | None = None) -> list[dict[str, Any]]:
        """What the workers told so far, each one's in its order."""
        found = read_journals(self.folder, "worker-*.jsonl")
        return [fact for fact in found if event is None or fact["event"] == event]

    def set_clock(self, slot: WorkerSlot, wrong_by: float) -> None:
        """Sets a worker's wall clock wrong."""
        (self.folder / f"clock-{slot.running.pid}").write_text(str(wrong_by))


@asynccontextmanager
async def world(
    folder: Path,
    postgres: PostgresServer,
    *,
    workers: int = 2,
    started: int | None = None,
    apis: int = 1,
    sheltered: bool = True,
    break_it: str = "",
    grace: str = "2s",
    concurrency: int = 50,
) -> AsyncIterator[World]:
    """Everything ready, of the workers the first `started` (else all); nothing of it is left afterwards.

    `sheltered` workflows run in this process, which nobody harms; else each worker runs its share of them.
    """
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    schema = postgres.create_schema()
    ledgers = {
        "postgresql": f"{postgres.url}?options=-csearch_path%3D{schema}&connect_timeout=3",
        "sqlite": f"sqlite:///{folder / 'effects.db'}",
    }
    for url in ledgers.values():
        await asyncio.to_thread(receiver.create_tables, url)
    config = EngineConfig(data_dir=folder / "temporal", ui_port=None, log_level="error")
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(EmbeddedEngine(config))
        client = await connect(engine.address)
        limits = httpx2.Limits(max_connections=100)
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=15, limits=limits, trust_env=False))
        env = _environment(folder, ledgers, break_it)
        made = World(folder, engine, postgres, ledgers, client, [], [], http)
        for number in range(apis):
            made.apis.append(_api(env, engine.address, number))
        for number in range(workers):
            proxy = await stack.enter_async_context(proxy_to(engine.address))
            made.workers.append(
                _worker(env, proxy, number, sheltered, "--grace", grace, "--concurrency", str(concurrency))
            )
        if sheltered:
            await stack.enter_async_context(orchestrator(client))
        try:
            first = made.workers[:started]
            for process in (*made.apis, *first):
                process.start()
            await made.ready(*first)
            yield made
        finally:
            for process in (*made.workers, *made.apis):
                await process.kill()


def _environment(folder: Path, ledgers: dict[str, str], break_it: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    return clean | {
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "DUETIME_DATA_DIR": str(folder / "service"),
        "FAULTS_FOLDER": str(folder),
        "FAULTS_POSTGRESQL": ledgers["postgresql"],
        "FAULTS_SQLITE": ledgers["sqlite"],
        "FAULTS_BREAK": break_it,
    }


def _api(env: dict[str, str], address: str, number: int) -> Api:
    port = free_port()
    own = {"DUETIME_TEMPORAL_ADDRESS": address, "DUETIME_API_PORT": str(port), "DUETIME_LOG_LEVEL": "warning"}
    module, mistake = "api", env["FAULTS_BREAK"]
    if mistake == "durability":
        module = "tests.faults.hasty_api"
    elif mistake.startswith("backlog") and number > 0:  # the first instance is honest
        module = "tests.faults.lying_api"
    return Api(f"api-{number}", [sys.executable, "-m", module], env | own, port=port)


def _worker(env: dict[str, str], proxy: Proxy, number: int, sheltered: bool, *options: str) -> WorkerSlot:
    argv = [sys.executable, "-m", "tests.faults.worker_program", "--queues", QUEUE, "--allow-commands"]
    argv += ["--handlers", "tests.faults.handlers", *options]
    argv += ["--no-workflows"] if sheltered else []
    own = {"DUETIME_TEMPORAL_ADDRESS": proxy.address}
    return WorkerSlot(f"worker-{number}", argv, env | own, proxy=proxy)
