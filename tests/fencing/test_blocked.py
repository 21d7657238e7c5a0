"""A handler that blocks the event loop harms nobody else, and is named; none can keep its worker from ending."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from duetime import Job, handler
from duetime.engine import EmbeddedEngine
from tests.support.jobs import Jobs, acknowledged, outcome_of
from tests.support.waiting import eventually
from tests.support.workers import WorkerProcess, serving, worker_processes

MODULE = ("--handlers", "tests.fencing.stubborn", "--grace", "1s")


async def test_it_costs_nobody_their_lease_and_is_named(
    jobs: Jobs, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    release = asyncio.Event()

    @handler("bystander")
    async def bystander(payload: dict[str, Any], job: Job) -> int:
        await release.wait()
        return job.attempt

    @handler("thread")
    def thread(payload: dict[str, Any], job: Job) -> int:
        time.sleep(4.5)
        return job.attempt

    @handler("culprit")
    async def culprit(payload: dict[str, Any], job: Job) -> int:
        await asyncio.sleep(0)
        time.sleep(4.5)  # noqa: ASYNC251 - over two leases
        return job.attempt

    async with serving(client, jobs.queue, bystander, thread, culprit) as worker:
        others = [await jobs.start(kind, lease="2s") for kind in ("bystander", "thread")]
        await asyncio.gather(*map(acknowledged, others))
        blocking = await jobs.start("culprit", lease="2s")
        ended = await outcome_of(blocking)
        release.set()
        results = [ended, *await asyncio.gather(*map(outcome_of, others))]
        counters = worker.counters
    assert [result.outcomes for result in results] == [["succeeded"]] * 3
    assert (counters.leases_lost, counters.loop_blocks) == (0, 1)
    (first, *_) = [record for record in caplog.records if record.name == "duetime.loop"]
    said = first.getMessage()
    assert f"by the handler of job {blocking.id}" in said
    assert "time.sleep(4.5)" in said, "its stack"
    assert others[0].id in said, "who suffers"


async def test_a_loop_that_answers_is_not_said_to_be_blocked(
    jobs: Jobs, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    @handler("busy")
    async def busy(payload: dict[str, Any]) -> None:
        for _ in range(25):
            time.sleep(0.1)  # noqa: ASYNC251 - long, but it lets others on
            await asyncio.sleep(0)

    async with serving(client, jobs.queue, busy) as worker:
        await jobs.run("busy")
        assert worker.counters.loop_blocks == 0
    assert not [record for record in caplog.records if record.name == "duetime.loop"]


async def begin(jobs: Jobs, process: WorkerProcess, folder: Path, *kinds: str) -> list[Any]:
    handles = [await jobs.start(kind, {"note": str(folder / kind)}, lease="2s") for kind in kinds]
    await eventually(lambda: all((folder / kind).exists() for kind in kinds) or not process.child.running)
    return handles


async def test_a_handler_that_ignores_its_cancellation_does_not_keep_the_worker(
    jobs: Jobs, client: Client, engine: EmbeddedEngine, tmp_path: Path
) -> None:
    from tests.fencing import stubborn

    kinds = ("stubborn.loop", "stubborn.thread")
    async with worker_processes(engine.address, jobs.queue, arguments=MODULE) as (process,):
        handles = await begin(jobs, process, tmp_path, *kinds)
        process.terminate()
        assert await asyncio.wait_for(process.child.wait(), 60) == 0, process.output
        assert process.output.count("ignores that it must stop") == 2
    async with serving(client, jobs.queue, stubborn.stubborn_on_the_loop, stubborn.stubborn_in_a_thread):
        results = await asyncio.gather(*map(outcome_of, handles))
    assert [result.outcomes for result in results] == [["interrupted", "succeeded"]] * 2


@pytest.mark.faults
async def test_a_handler_that_blocks_the_loop_does_not_keep_the_worker(
    jobs: Jobs, client: Client, engine: EmbeddedEngine, tmp_path: Path
) -> None:
    """It cannot even be told to stop: the process ends by force, and the lease runs out."""
    from tests.fencing import stubborn

    async with worker_processes(engine.address, jobs.queue, arguments=MODULE) as (process,):
        (handle,) = await begin(jobs, process, tmp_path, "blocks")
        await acknowledged(handle)
        process.terminate()
        assert await asyncio.wait_for(process.child.wait(), 60) == 1, process.output
        assert "ended by force" in process.output
        assert f"by the handler of job {handle.id}" in process.output
    async with serving(client, jobs.queue, stubborn.blocks_the_loop):
        result = await outcome_of(handle)
    assert result.outcomes == ["lease_lost", "succeeded"]
