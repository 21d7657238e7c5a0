"""What workers count, and what they tell of themselves: in this process, on a runtime with metrics and quick signs."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.runtime import Runtime, TelemetryConfig

from duetime.engine import EmbeddedEngine
from duetime.engine.ports import free_port
from duetime.handlers import handler
from duetime.observe import names
from duetime.observe.runtime import RuntimeFault, prometheus, set_up_runtime
from tests.operations.bench import Bench, fail, hold, later, let_go, quick, until
from tests.operations.scraping import Samples, scrape
from workflows.worker import orchestrator


class StaleToken(Exception):
    """As the effect ledger's, which is told by its name: the ledger need not be installed with a worker."""


StaleToken.__module__ = "duetime.effects.errors"


@handler("stale")
async def stale(payload: dict[str, Any]) -> None:
    raise StaleToken("too late")


@handler("silent", heartbeat="manual")
async def silent(payload: dict[str, Any]) -> None:
    """Never renews its lease, and loses it."""
    await asyncio.Event().wait()


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
async def lively(bare: EmbeddedEngine, port: int) -> Client:
    """A connection whose workers say every second that they live, and show their metrics."""
    runtime = Runtime(
        telemetry=TelemetryConfig(metrics=prometheus(f"127.0.0.1:{port}"), attach_service_name=False),
        worker_heartbeat_interval=timedelta(seconds=1),
    )
    return await Client.connect(bare.address, data_converter=pydantic_data_converter, runtime=runtime)


@pytest.fixture
async def served(lively: Client, alone: Bench) -> AsyncIterator[Bench]:
    kinds = (quick, hold, fail, later, stale, silent)
    async with orchestrator(lively), alone.worker(*kinds, client=lively, concurrency=2):
        yield alone


async def test_attempts_and_ends_are_counted(served: Bench, port: int) -> None:
    queue, once = served.queue, {"max_attempts": 1}
    for _ in range(3):
        await served.in_state(await served.submit(), "succeeded")
    twice = await served.submit(kind="fail", retry={"max_attempts": 2, "initial_interval": "0s"})
    refused = await served.submit(kind="stale", retry=once)
    lost = await served.submit(kind="silent", lease="2s", retry=once)
    slow = await served.submit(kind="hold", timeout="1s", retry=once)
    snoozed = await served.submit(kind="later")
    for job_id in (twice, refused, lost, slow):
        await served.in_state(job_id, "failed")
    await served.in_state(snoozed, "retrying")
    seen = await scrape(port, "kind", "queue", "outcome")

    def attempts(kind: str, outcome: str) -> float:
        return seen.get(("duetime_attempts_total", (kind, outcome, queue)), 0)

    assert attempts("quick", "succeeded") == 3
    assert attempts("fail", "failed") == 2
    assert attempts("stale", "failed") == 1
    assert attempts("silent", "lease_lost") == 1
    assert attempts("hold", "timed_out") == 1
    assert attempts("later", "snoozed") == 1
    assert seen["duetime_jobs_finished_total", ("quick", "succeeded", queue)] == 3
    assert seen["duetime_jobs_finished_total", ("fail", "failed", queue)] == 1
    assert seen["duetime_jobs_finished_total", ("silent", "failed", queue)] == 1
    assert ("duetime_jobs_finished_total", ("later", "failed", queue)) not in seen
    assert seen["duetime_leases_lost_total", ("silent", queue)] == 1
    assert seen["duetime_stale_tokens_refused_total", ("stale", queue)] == 1
    assert seen["duetime_attempt_duration_seconds_count", ("quick", "succeeded", queue)] == 3
    assert seen["duetime_attempt_duration_seconds_sum", ("hold", "timed_out", queue)] >= 1
    assert seen["duetime_start_lateness_seconds_count", ("fail", queue)] == 1
    assert all_shown(seen) == {metric.shown for metric in names.ALL}


def all_shown(seen: Samples) -> set[str]:
    """Our metrics by their names, of which histograms have three."""
    ours = {name for name, _ in seen if name.startswith("duetime_")}
    return {name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") for name in ours}


async def test_lateness_is_from_the_due_time(alone: Bench, lively: Client, port: int) -> None:
    async with orchestrator(lively):
        job_id = await alone.submit(run_at="2020-01-01T00:00:00Z")
        await alone.backlog(queued=1)
        async with alone.worker(client=lively):
            await alone.in_state(job_id, "succeeded")
            seen = await scrape(port, "kind", "queue", "le")
    assert seen["duetime_start_lateness_seconds_sum", ("quick", alone.queue)] > 3600
    assert seen["duetime_start_lateness_seconds_bucket", ("quick", "3600", alone.queue)] == 0
    assert seen["duetime_start_lateness_seconds_bucket", ("quick", "+Inf", alone.queue)] == 1


async def test_a_worker_tells_of_its_slots(served: Bench) -> None:
    held = [await served.submit(kind="hold") for _ in range(2)]
    for job_id in held:
        await served.in_state(job_id, "running")
    waits = await served.submit()
    why = await until(
        lambda: served.why(waits), lambda why: [one.get("busy") for one in why["blocked"]] == [2]
    )
    assert (why["blocked"][0]["reason"], why["blocked"][0]["slots"]) == ("workers_full", 2)
    view = await until(served.view, lambda view: view["health"] == "workers_full")
    assert (view["slots"], view["busy"]) == (2, 2) and "all 2 slots of 1 worker are busy" in view["verdict"]
    let_go(held[0])
    await served.in_state(waits, "succeeded")
    view = await until(served.view, lambda view: view["busy"] == 1)
    assert view["health"] == "ok"


async def test_a_worker_that_leaves_in_order_is_gone_at_once(alone: Bench, lively: Client) -> None:
    """The server lists its polls for minutes on."""
    async with alone.worker(client=lively):
        await until(alone.view, lambda view: view["slots"])
    view = await until(alone.view, lambda view: not view["workers"], seconds=6)
    assert view["slots"] == 0


def test_a_runtime_comes_before_the_first_connection() -> None:
    with pytest.raises(RuntimeFault, match="before the first connection"):
        set_up_runtime()
