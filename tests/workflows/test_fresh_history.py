"""A job that comes back again and again starts a fresh history and forgets nothing."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from duetime import Job, Snooze, attributes, handler
from duetime.connection import connect
from duetime.contracts.instants import format_instant
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.support.jobs import Jobs, outcome_of, view_of
from tests.support.waiting import eventually
from tests.support.workers import serving
from workflows.worker import orchestrator

ROUNDS = 8


async def test_nothing_is_forgotten() -> None:
    @handler("comes-back")
    async def comes_back(payload: dict[str, Any], job: Job) -> dict[str, Any]:
        done = [*(job.checkpoint or []), job.attempt]
        await job.save_checkpoint(done)
        job.progress(len(done), ROUNDS)
        if len(done) == ROUNDS // 2:
            raise Snooze("1h")
        if len(done) < ROUNDS:
            raise Snooze(0)
        return {"done": done, "key": job.idempotency_key, "due": format_instant(job.due_at)}

    short = {"limit.historyCount.suggestContinueAsNew": "15"}
    async with EmbeddedEngine(EngineConfig(ui_port=None, dynamic_config=short)) as engine:
        client = await connect(engine.address)
        async with orchestrator(client), serving(client, "q", comes_back):
            due = format_instant(datetime.now(UTC) - timedelta(seconds=5))
            handle = await Jobs(client, "q").start_raw(
                {
                    "kind": "comes-back",
                    "queue": "q",
                    "delay": "1h",
                    "tags": ["t"],
                    "retry": {"max_attempts": 1},
                },
                memo={"callers": {"own": 1}},
            )
            await handle.execute_update("move", {"run_at": due, "priority": 2})
            latest = client.get_workflow_handle(handle.id)

            async def pausing() -> bool:
                view = await view_of(latest)
                return view is not None and len(view.record.attempts) == ROUNDS // 2

            await eventually(pausing)
            await latest.execute_update("run_now")
            ended = await outcome_of(latest)
            described = await latest.describe()
            view = await view_of(latest)
            memo = await described.memo()

    assert described.run_id != handle.first_execution_run_id, "there were several histories"
    assert ended.outcomes == ["snoozed"] * (ROUNDS - 1) + ["succeeded"]
    assert [attempt.number for attempt in ended.attempts] == list(range(1, ROUNDS + 1))
    assert ended.tokens == sorted(set(ended.tokens))
    assert ended.result == {
        "done": [1] * ROUNDS,
        "key": f"{handle.id}:{handle.first_execution_run_id}",
        "due": due,
    }
    assert ended.ending.progress is not None and ended.ending.progress.done == ROUNDS
    assert view is not None and view.priority == 2 and format_instant(view.due_at or datetime.min) == due
    assert memo["callers"] == {"own": 1}
    found = described.typed_search_attributes
    assert (found.get(attributes.KIND), found.get(attributes.TAGS)) == ("comes-back", ["t"])
    assert format_instant(found.get(attributes.DUE_AT) or datetime.min) == due


async def test_a_move_that_meets_a_fresh_history_is_answered() -> None:
    @handler("waits")
    async def waits(payload: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    short = {"limit.historyCount.suggestContinueAsNew": "8"}
    async with EmbeddedEngine(EngineConfig(ui_port=None, dynamic_config=short)) as engine:
        client = await connect(engine.address)
        async with orchestrator(client):
            handle = await Jobs(client, "nobody").start("waits")
            latest = client.get_workflow_handle(handle.id)
            for _ in range(3):
                later = format_instant(datetime.now(UTC) + timedelta(hours=1))
                await latest.execute_update("move", {"run_at": later})
                await latest.execute_update("run_now")
            described = await latest.describe()
            await latest.terminate()
    assert described.run_id != handle.first_execution_run_id, "there were several histories"
