"""The one writer: a fresh history loses nothing, a killed worker repeats nothing, and one that nobody uses goes."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.schedules import waking
from api.app import create_app
from duetime.connection import connect
from duetime.contracts.instants import format_instant
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.schedule_book import SCHEDULE
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.schedules.ids import entity_id
from tests.api.caller import problem
from tests.api.conftest import calling, settings
from tests.schedules.conftest import Scheduler
from tests.support.waiting import eventually
from tests.support.workers import WorkerProcess
from workflows import schedule as entity

#: Times of the backfill whose workers are killed.
MANY = 500 if os.environ.get("DUETIME_LONG_SCHEDULES") else 32


async def test_a_fresh_history_goes_on_where_the_old_one_ended(
    schedule: Scheduler, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity, "_EVENTS", 40)
    await schedule.made(cron="0 3 * * *", note="0")
    await schedule.told("pause", reason="month end")
    for number in range(1, 8):
        await schedule.made(cron="0 3 * * *", note=str(number))
    handle = client.get_workflow_handle(entity_id(schedule.id))

    async def fresh() -> bool:
        described = await handle.describe()
        first = described.raw_description.workflow_execution_info.first_run_id
        return described.run_id != first

    await eventually(fresh)
    found = await schedule.get()
    assert (found["revision"], found["spec"]["note"]) == (8, "7")
    assert found["paused"]["reason"] == "month end"
    assert (await schedule.made(cron="0 4 * * *"))["revision"] == 9


async def test_an_entity_that_nobody_puts_anything_into_ends(
    client: Client, schedule: Scheduler, monkeypatch: pytest.MonkeyPatch, orchestration: None
) -> None:
    monkeypatch.setattr(entity, "_EMPTY", timedelta(seconds=1))
    handle = await client.start_workflow(SCHEDULE, id=entity_id(schedule.id), task_queue=ORCHESTRATION_QUEUE)
    problem(await schedule.http.get(schedule.path), 404, "not-found")
    problem(await schedule.tell("pause", reason="x"), 404, "not-found")
    assert await handle.result() == {"revision": 0}


async def test_schedules_are_woken_when_the_server_is_back(
    client: Client, schedule: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = asyncio.Queue[int]()
    answers: list[Any] = [True, True, RPCError("away", RPCStatusCode.UNAVAILABLE, b""), False, True, True]

    async def check_health(**_: Any) -> bool:
        answer = answers.pop(0) if answers else True
        if isinstance(answer, RPCError):
            raise answer
        return bool(answer)

    real = waking.wake

    async def wake(of: Client) -> int:
        count = await real(of)
        woken.put_nowait(len(answers))
        return count

    await schedule.made()
    monkeypatch.setattr(client.service_client, "check_health", check_health)
    monkeypatch.setattr(waking, "wake", wake)
    monkeypatch.setattr(waking, "_PAUSE", 0.01)
    async with asyncio.timeout(30), waking.waking_schedules(client):
        left = [await woken.get(), await woken.get()]
    # At the beginning, and once more after it was away.
    assert left == [5, 1]
    assert woken.empty()


@pytest.mark.timeout(600)
async def test_a_backfill_outlives_the_workers_that_carry_it_out(queue: str) -> None:
    """Killed half way, and asked for again: each time runs once."""
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as own:
        client = await connect(own.address)
        async with calling(create_app(settings(), client)) as http:
            schedule = Scheduler(http, queue, "filled")
            begin = datetime(2026, 1, 1, tzinfo=UTC)
            span = {"from": format_instant(begin), "to": format_instant(begin + timedelta(minutes=MANY - 1))}

            async def done(count: int) -> bool:
                return len(await _ended(client)) >= count

            async with orchestrating(own.address, queue):
                await schedule.made(cron="* * * * *", overlap="allow", paused=True, job={"kind": "noop"})
                assert (await schedule.told("backfill", **span))["count"] == MANY
                await eventually(lambda: done(MANY // 4), often=True)
            assert len(await _ended(client)) < MANY
            async with orchestrating(own.address, queue):
                again = await schedule.told("backfill", **span)
                assert again["backfill"]["total"] == MANY
                await eventually(lambda: done(MANY), 400)

                async def finished() -> bool:
                    return all(one["finished_at"] for one in (await schedule.get())["backfills"])

                await eventually(finished, 60)
                (backfill,) = (await schedule.get())["backfills"]
            ids = await _ended(client)
            assert len(ids) == len(set(ids)) == MANY
            assert backfill["started"] == MANY


@contextlib.asynccontextmanager
async def orchestrating(address: str, queue: str) -> AsyncIterator[None]:
    """A `worker.py` with the workflows, killed at the end."""
    process = WorkerProcess(address, queue, workflows=True)
    try:
        await process.ready()
        yield
    finally:
        await process.kill()


async def _ended(client: Client) -> list[str]:
    query = "TemporalScheduledById = 'filled' AND ExecutionStatus = 'Completed'"
    return [found.id async for found in client.list_workflows(query)]
