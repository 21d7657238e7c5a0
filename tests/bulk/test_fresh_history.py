"""An operation with many turns starts a fresh history and forgets nothing: no count, nor its place, nor a word."""

import pytest
from temporalio.client import Client

from activities.bulk import freezing
from duetime.connection import connect
from duetime.contracts.bulk import STANDING, Standing
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.replay.bulk_scenarios import begin
from tests.replay.stage import Stage
from tests.support.waiting import eventually
from workflows.worker import orchestrator

JOBS = 9


async def test_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "SET_JOBS", 1)
    short = {"limit.historyCount.suggestContinueAsNew": "25"}
    async with EmbeddedEngine(EngineConfig(ui_port=None, dynamic_config=short)) as engine:
        client = await connect(engine.address)
        async with orchestrator(client):
            stage = Stage.new(client)
            made = [await stage.jobs.start("ok", delay="1h") for _ in range(JOBS)]
            await eventually(lambda: _indexed(client, stage.queue))
            handle = await begin(stage, "Running", action="cancel", dry_run=True)
            latest = client.get_workflow_handle(handle.id)
            # Before its time: the word is kept until the set is frozen. The first one counts.
            await latest.signal("run", {"rate": 400})
            await latest.signal("run", {"rate": 5})
            await latest.result()
            described = await latest.describe()
            ended = Standing.model_validate((await described.memo())[STANDING])
            states = [(await job.describe()).status for job in made]
            await eventually(lambda: _no_sets(client))
    assert described.run_id != handle.first_execution_run_id, "there were several histories"
    assert (ended.state, ended.total, ended.sets, ended.rate) == ("done", JOBS, JOBS, 400)
    assert (ended.tally.done, ended.tally.total) == (JOBS, JOBS)
    assert len({job.id for job in ended.sample}) == JOBS
    assert {state.name for state in states if state} == {"TERMINATED"}


async def _indexed(client: Client, queue: str) -> bool:
    query = f"WorkflowType = 'Job' AND DuetimeQueue = '{queue}'"
    return (await client.count_workflows(query)).count == JOBS


async def _no_sets(client: Client) -> bool:
    """Whether every set was let go."""
    query = "WorkflowType = 'BulkSet' AND ExecutionStatus"
    ended = (await client.count_workflows(f"{query} = 'Completed'")).count
    return ended == JOBS and not (await client.count_workflows(f"{query} = 'Running'")).count
