"""What wide pipelines cost: `python -m benchmarks.fan_out [--items 1000] [--jobs 200] [--parallel 50]`.

Runs one pipeline whose job runs for each of so many items, and one of so many jobs (a fan out of one job and into
another), on an embedded server in memory with one worker. Tells how long they took, how large their histories became,
run by run, and how much memory the worker held at most. Histories must stay far below what the server takes: 51,200
events and 50 MiB.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from typing import Any

import psutil
from temporalio.client import Client

from benchmarks.measure import cpu_seconds
from duetime.connection import connect
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.pipeline import PIPELINE, job_id, part_id
from duetime.engine import EmbeddedEngine, EngineConfig, prepare_namespace
from duetime.process import run_main
from workflows.parts import how_many

QUEUE = "bench"
_MIB = 1024 * 1024


def of_items(count: int, parallel: int) -> dict[str, Any]:
    """A list, a job for each item of it, and one that takes all results."""
    each = {
        "kind": "bare",
        "queue": QUEUE,
        "for_each": list(range(count)),
        "payload": {"n": {"$item": ""}},
        "max_parallel": parallel,
    }
    last = {
        "kind": "noop",
        "queue": QUEUE,
        "needs": ["each"],
        "payload": {"last": {"$result": f"each.{count - 1}.n"}},
    }
    return {"jobs": {"each": each, "last": last}}


def of_jobs(count: int, parallel: int) -> dict[str, Any]:
    """One job, those that need it, and one that needs all of them."""
    middle = [f"n{index}" for index in range(count - 2)]
    jobs: dict[str, Any] = {"first": {"kind": "bare", "queue": QUEUE, "payload": {"x": 1}}}
    for name in middle:
        jobs[name] = {
            "kind": "bare",
            "queue": QUEUE,
            "needs": ["first"],
            "payload": {"x": {"$result": "first.x"}},
        }
    jobs["last"] = {"kind": "noop", "queue": QUEUE, "needs": middle}
    return {"jobs": jobs, "max_parallel": parallel}


class Peak:
    """The most memory that a process held."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.bytes = 0

    async def watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, self._process.memory_info().rss)
            await asyncio.sleep(0.25)


async def histories(client: Client, workflow_id: str) -> list[tuple[int, int]]:
    """Events and bytes of each run under an id, oldest first."""
    found = []
    async for execution in client.list_workflows(f"WorkflowId = '{workflow_id}'"):
        handle = client.get_workflow_handle(workflow_id, run_id=execution.run_id)
        raw = (await handle.describe()).raw_description
        info = raw.workflow_execution_info
        found.append((execution.start_time, info.history_length, info.history_size_bytes))
    return [(events, size) for _, events, size in sorted(found)]


def workflows_of(pipeline_id: str, spec: dict[str, Any]) -> list[str]:
    """The pipeline, and the workflows that run the items of its job with items."""
    if "each" not in spec["jobs"]:
        return [pipeline_id]
    each = spec["jobs"]["each"]
    parts = how_many(len(each["for_each"]), each["max_parallel"])
    fan_out = job_id(pipeline_id, "each")
    return [pipeline_id, fan_out, *(part_id(fan_out, part) for part in range(parts if parts > 1 else 0))]


async def run(client: Client, name: str, spec: dict[str, Any], count: int, pids: dict[str, int]) -> None:
    peak = Peak(pids["worker"])
    watching = asyncio.create_task(peak.watch())
    before = {process: cpu_seconds(pid) for process, pid in pids.items()}
    began = time.perf_counter()
    pipeline_id = f"{name.replace(' ', '-').replace(',', '')}"
    handle = await client.start_workflow(PIPELINE, spec, id=pipeline_id, task_queue=ORCHESTRATION_QUEUE)
    await handle.result()
    seconds = time.perf_counter() - began
    watching.cancel()
    cpu = {process: (cpu_seconds(pid) - before[process]) / count * 1000 for process, pid in pids.items()}
    runs = [found for each in workflows_of(pipeline_id, spec) for found in await histories(client, each)]
    most, largest = max(events for events, _ in runs), max(size for _, size in runs)
    told = f"{len(runs)}: {most:,} events, {largest / _MIB:.2f} MiB at most"
    print(
        f"| {name} | {seconds:.0f} s | {count / seconds:.1f} | {cpu['server']:.0f} | {cpu['worker']:.0f} "
        f"| {peak.bytes / _MIB:.0f} MiB | {told} |",
        flush=True,
    )


def spawn(environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """The one worker."""
    arguments = ["worker.py", "--queues", QUEUE, "--handlers", "benchmarks.handlers", "--concurrency", "50"]
    return subprocess.Popen([sys.executable, *arguments], env=environment)


async def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="*", default=[1000], help="items of one job")
    parser.add_argument("--jobs", type=int, nargs="*", default=[200], help="jobs of one pipeline")
    parser.add_argument("--parallel", type=int, default=50)
    options = parser.parse_args()
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        client = await connect(engine.address)
        await prepare_namespace(client)
        environment = os.environ | {
            "DUETIME_TEMPORAL_ADDRESS": engine.address,
            "DUETIME_LOG_LEVEL": "warning",
        }
        worker = spawn(environment)
        try:
            pids = {"server": engine.pid, "worker": worker.pid}
            await run(client, "warm up", of_items(10, 10), 10, pids)
            print("| pipeline | took | jobs/s | server ms/job | worker ms/job | worker at most | histories |")
            print("|---|---|---|---|---|---|---|", flush=True)
            for count in options.items:
                await run(client, f"{count:,} items", of_items(count, options.parallel), count, pids)
            for count in options.jobs:
                await run(client, f"{count:,} jobs", of_jobs(count, options.parallel), count, pids)
        finally:
            worker.terminate()
            worker.wait(60)
    return 0


if __name__ == "__main__":
    run_main(main)
