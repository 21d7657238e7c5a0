"""The workflow of a limit itself: fresh histories with jobs in line, its end when nobody needs it, its return."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from duetime import Job, handler
from duetime.connection import connect
from duetime.contracts.concurrency import LINE, Line, limit_of_key
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.support.jobs import Jobs, held, outcome_of
from tests.support.waiting import eventually
from tests.support.workers import serving
from workflows import limit as limit_workflow
from workflows import taking
from workflows.worker import orchestrator


class Most:
    """How many were at work at the same time."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def handler(self) -> Any:
        @handler("count")
        async def count(payload: dict[str, Any], job: Job) -> int:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(payload.get("takes", 0.02))
            self.now -= 1
            return job.attempt

        return count


async def test_fresh_histories_lose_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the limit and of the jobs that wait: both begin a fresh one again and again, and are replayed in between."""
    monkeypatch.setattr(taking, "_ASK_AGAIN", timedelta(seconds=1))
    most = Most()
    short = {"limit.historyCount.suggestContinueAsNew": "14"}
    async with EmbeddedEngine(EngineConfig(ui_port=None, dynamic_config=short)) as engine:
        client = await connect(engine.address)
        async with orchestrator(client, max_cached_workflows=4), serving(client, "q", most.handler()):
            jobs, limit = Jobs(client, "q"), {"key": "k", "limit": 2}
            handles = [
                await jobs.start("count", {"takes": 0.1 if number > 1 else 3}, concurrency=limit)
                for number in range(10)
            ]
            ended = await asyncio.gather(
                *(outcome_of(client.get_workflow_handle(handle.id)) for handle in handles)
            )
            described = await client.get_workflow_handle(limit_of_key("k")).describe()
            last = described.raw_description.workflow_execution_info
            jobs_again = [
                job
                for job in handles
                if (await client.get_workflow_handle(job.id).describe()).run_id != job.first_execution_run_id
            ]
            line = Line.model_validate(await client.get_workflow_handle(limit_of_key("k")).query(LINE))
            memo = await described.memo()
    assert [outcome.outcomes for outcome in ended] == [["succeeded"]] * 10
    assert most.most == 2
    assert last.first_run_id != last.execution.run_id, "the limit had several histories"
    assert jobs_again, "so had jobs"
    assert (line.held, line.waiting, memo) == (0, 0, {"limit": 2})


async def test_one_that_nobody_needs_ends_and_comes_back(
    client: Client, jobs: Jobs, queue: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_workflow, "IDLE", timedelta(seconds=1))
    most, limit = Most(), {"key": key, "limit": 1}
    handle = client.get_workflow_handle(limit_of_key(key))

    async def is_done() -> bool:
        return (await handle.describe()).status is WorkflowExecutionStatus.COMPLETED

    async with serving(client, queue, most.handler()):
        await jobs.run("count", concurrency=limit)
        await eventually(is_done)
        before = (await handle.describe()).run_id
        # Some come while it ends, whenever that is.
        started = []
        for number in range(4):
            started.append(await jobs.start("count", concurrency=limit))
            await outcome_of(started[-1])
            await asyncio.sleep(0.9 + number * 0.05)
        await asyncio.gather(*(outcome_of(job) for job in started))
        await eventually(is_done)
    assert (await handle.describe()).run_id != before
    assert most.most == 1


async def test_jobs_outlive_a_limit_that_was_ended_by_hand(
    client: Client, jobs: Jobs, queue: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "_ASK_AGAIN", timedelta(seconds=1))
    most, limit = Most(), {"key": key, "limit": 1}
    async with serving(client, queue, most.handler()):
        first = await jobs.start("count", {"takes": 2}, concurrency=limit)
        await held(first)
        second = await jobs.start("count", concurrency=limit)
        handle = client.get_workflow_handle(limit_of_key(key))

        async def waits() -> bool:
            return bool((await handle.query(LINE))["waiting"])

        await eventually(waits)
        await handle.terminate()
        assert (await outcome_of(second)).result == 1
        assert (await outcome_of(first)).result == 1


async def test_thousands_may_wait(client: Client, key: str, orchestration: None) -> None:
    """They are said to wait by the signals that their jobs would send; the next run takes them all over."""
    limit_id = limit_of_key(key)
    ask = {"chain": "c", "number": 1, "limit": 1, "limit_at": 1}
    packed = {
        "limit": 1,
        "limit_at": 1,
        "news": [],
        "lapsing": [],
        "holders": [["held", "c", 1, 0.0, 4102444800000, 4102444800000, 10_000, False]],
        "waiters": [[f"job-{number:05}", "c", 1, 3, number, 0.0] for number in range(3_000)],
    }
    handle = await client.start_workflow("ConcurrencyLimit", packed, id=limit_id, task_queue="duetime")
    await handle.signal("ask", ask | {"job": "urgent", "since": 1, "priority": 1})
    await handle.signal("ask", ask | {"job": "last", "since": 99_999})
    first, last = await handle.query(LINE, "urgent"), await handle.query(LINE, "last")
    assert (first["position"], last["position"], last["waiting"]) == (1, 3_002, 3_002)
    # None of them is there: each is told of its place, found to be gone, and the next one is told.
    await handle.signal("change", {"limit": 500, "at": 2})
    await handle.signal("leave", {"job": "held", "chain": "c", "number": 1})

    async def shrinks() -> bool:
        return bool((await handle.query(LINE))["waiting"] < 2_700)

    await eventually(shrinks)
    await handle.terminate()
