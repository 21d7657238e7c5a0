"""What Duetime costs on top of the bare engine: `python -m benchmarks.engine [--jobs 100] [--rounds 20]`.

The same server, file database with full synchronous writes, one partition a queue, unsandboxed workflows, the same
data converter and poller counts. Rounds of the three ways alternate, after one to warm up, so that a slow moment of the
machine hits all of them; figures are medians. What counts are the ratios: the median of what each round gave beside the
yardstick's of the same time, and the middle half of them. A way's round ends with the result of its last job, which all
three wait for in the same manner (the SDK's long poll).
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from temporalio.client import Client, WorkflowHandle

from benchmarks.bare import WORKFLOWS
from benchmarks.measure import Round, Series, cpu_seconds
from duetime.connection import connect
from duetime.contracts.ids import new_id
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.engine import EmbeddedEngine, EngineConfig, prepare_namespace
from duetime.process import run_main

PAYLOAD = {"to": "a@example.org", "text": "Dentist at ten"}
QUEUE = "bench"

Start = Callable[[], Awaitable["WorkflowHandle[Any, Any]"]]


def fresh_id() -> str:
    return new_id(datetime.now(UTC))


class Ways:
    """The three ways to have one activity run."""

    def __init__(self, client: Client, http: httpx2.AsyncClient) -> None:
        self.client, self.http = client, http

    async def bare(self) -> "WorkflowHandle[Any, Any]":
        return await self.client.start_workflow("Bare", PAYLOAD, id=fresh_id(), task_queue=WORKFLOWS)

    async def sdk(self) -> "WorkflowHandle[Any, Any]":
        job = {"kind": "bare", "payload": PAYLOAD, "queue": QUEUE}
        return await self.client.start_workflow("Job", job, id=fresh_id(), task_queue=ORCHESTRATION_QUEUE)

    async def http_api(self) -> "WorkflowHandle[Any, Any]":
        response = await self.http.post("/v1/jobs", json={"kind": "bare", "payload": PAYLOAD, "queue": QUEUE})
        response.raise_for_status()
        accepted = response.json()
        # With the run, as a start by SDK knows it: the server need not look up the current one.
        return self.client.get_workflow_handle(accepted["id"], run_id=accepted["run_id"])


async def one_round(start: Start, jobs: int, at_once: int, processes: dict[str, int]) -> Round:
    before = {name: cpu_seconds(pid) for name, pid in processes.items()}
    submit: list[float] = []
    places = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with places:
            began = time.perf_counter()
            handle = await start()
            submit.append(time.perf_counter() - began)
            await handle.result()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(jobs)))
    seconds = time.perf_counter() - began
    cpu = {name: cpu_seconds(pid) - before[name] for name, pid in processes.items()}
    return Round(jobs, seconds, submit, cpu)


async def events_of(start: Start) -> int:
    handle = await start()
    await handle.result()
    return len((await handle.fetch_history()).events)


def spawn(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *arguments], env=environment)


async def until_ready(http: httpx2.AsyncClient, ways: Ways) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                if (await http.get("/readyz")).status_code == 200:
                    break
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.1)
        for start in (ways.bare, ways.sdk, ways.http_api):
            await (await start()).result()


def report(series: list[Series], events: dict[str, int]) -> None:
    print(
        "| way | jobs/s | of bare | middle half | server ms/job | worker ms/job | API ms/job | submit p50 | p99 "
        "| events |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    bare = series[0]
    for taken in series:
        worker = taken.cpu("bare worker" if taken is bare else "worker")
        low, middle, high = taken.beside(bare)
        print(
            f"| {taken.name} | {taken.rate:.1f} | {middle:.2f} | {low:.2f} to {high:.2f} "
            f"| {taken.cpu('server'):.1f} | {worker:.1f} | {taken.cpu('api'):.1f} "
            f"| {taken.submit(0.5):.1f} ms | {taken.submit(0.99):.1f} ms | {events[taken.name]} |"
        )


async def measure(options: argparse.Namespace, directory: Path) -> int:
    engine = EmbeddedEngine(EngineConfig(data_dir=directory / "data", ui_port=None))
    async with engine:
        client = await connect(engine.address)
        await prepare_namespace(client)
        address = f"http://127.0.0.1:{options.port}"
        environment = os.environ | {
            "DUETIME_TEMPORAL_ADDRESS": engine.address,
            "DUETIME_API_PORT": str(options.port),
            "DUETIME_LOG_LEVEL": "warning",
        }
        children = {
            "bare worker": spawn(["-m", "benchmarks.bare"], environment),
            "worker": spawn(
                ["worker.py", "--queues", QUEUE, "--handlers", "benchmarks.handlers"], environment
            ),
            "api": spawn(["-m", "api"], environment),
        }
        try:
            # As the SDK does, it keeps its connections.
            kept = httpx2.Limits(max_keepalive_connections=options.at_once)
            async with httpx2.AsyncClient(base_url=address, timeout=30, limits=kept) as http:
                ways = Ways(client, http)
                await until_ready(http, ways)
                starts = {"bare engine": ways.bare, "Duetime, SDK": ways.sdk, "Duetime, HTTP": ways.http_api}
                events = {name: await events_of(start) for name, start in starts.items()}
                series = {name: Series(name) for name in starts}
                pids = {"server": engine.pid} | {name: child.pid for name, child in children.items()}
                order = list(starts)
                for name in order:
                    await one_round(starts[name], options.jobs, options.at_once, pids)
                for number in range(options.rounds):
                    for name in order[number % 3 :] + order[: number % 3]:
                        taken = await one_round(starts[name], options.jobs, options.at_once, pids)
                        series[name].rounds.append(taken)
                        print(f"round {number + 1}: {name}: {taken.rate:.1f} jobs/s", file=sys.stderr)
                report(list(series.values()), events)
        finally:
            for child in children.values():
                child.terminate()
            for child in children.values():
                child.wait(60)
    return 0


async def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=100, help="jobs in a round")
    parser.add_argument("--rounds", type=int, default=20, help="at least 2")
    parser.add_argument("--at-once", type=int, default=50, help="jobs in flight")
    parser.add_argument("--port", type=int, default=18990, help="where the API listens meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        return await measure(options, Path(directory))


if __name__ == "__main__":
    run_main(main)
