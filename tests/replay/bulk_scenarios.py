"""Operations on many jobs, for the replay tests."""

from typing import Any

from temporalio.client import WorkflowHandle

from duetime.contracts.bulk import OPERATION, OPERATION_ID, STANDING, Plan, Standing
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.jobs.literal import literal
from tests.replay.stage import Stage, scenario
from tests.support.jobs import NO_WAIT
from tests.support.waiting import eventually


async def begin(stage: Stage, status: str, **fields: Any) -> WorkflowHandle:
    """An operation on the jobs of the stage."""
    query = f"WorkflowType = 'Job' AND DuetimeQueue = {literal(stage.queue)} AND ExecutionStatus = '{status}'"
    plan = Plan.model_validate({"$duetime": 1, "query": query, **fields})
    return await stage.client.start_workflow(
        OPERATION,
        plan.compact(),
        id=f"{OPERATION_ID}{stage.queue}",
        task_queue=ORCHESTRATION_QUEUE,
        memo={STANDING: Standing(action=plan.action, rate=plan.rate, canary=plan.canary).compact()},
    )


async def failed_jobs(stage: Stage, count: int) -> None:
    """Jobs that have failed once, and succeed when they are redriven."""
    for _ in range(count):
        handle = await stage.jobs.start("fails", retry=NO_WAIT | {"max_attempts": 1})
        await eventually(lambda handle=handle: _is_indexed(handle))  # type: ignore[misc]


async def _is_indexed(handle: WorkflowHandle) -> bool:
    query = f"WorkflowId = {literal(handle.id)} AND ExecutionStatus = 'Failed'"
    return (await handle._client.count_workflows(query)).count == 1


async def standing_of(handle: WorkflowHandle) -> Standing:
    return Standing.model_validate((await (await handle.describe()).memo())[STANDING])


@scenario
async def bulk_halted(stage: Stage) -> WorkflowHandle:
    """Its canary fails again."""
    async with stage.worker():
        await failed_jobs(stage, 3)
        handle = await begin(stage, "Failed", action="retry", canary=1)
        assert Standing.model_validate(await handle.result()).state == "halted"
        return handle


@scenario
async def bulk_redriven(stage: Stage) -> WorkflowHandle:
    async with stage.worker():
        await failed_jobs(stage, 3)
        handle = await begin(stage, "Failed", action="retry", rate=10)
        assert Standing.model_validate(await handle.result()).tally.done == 3
        return handle


@scenario
async def bulk_frozen_and_run(stage: Stage) -> WorkflowHandle:
    waiting = await stage.jobs.start("ok", delay="1h")
    await eventually(lambda: _is_there(waiting))
    handle = await begin(stage, "Running", action="cancel", dry_run=True)
    await eventually(lambda: _is(handle, "frozen"))
    await handle.signal("run", {"rate": 5})
    assert Standing.model_validate(await handle.result()).tally.done == 1
    return handle


@scenario
async def bulk_stopped(stage: Stage) -> WorkflowHandle:
    handle = await begin(stage, "Running", action="cancel", dry_run=True)
    await eventually(lambda: _is(handle, "frozen"))
    await handle.signal("stop", "enough")
    assert Standing.model_validate(await handle.result()).state == "stopped"
    return handle


async def _is_there(handle: WorkflowHandle) -> bool:
    return (await handle._client.count_workflows(f"WorkflowId = {literal(handle.id)}")).count == 1


async def _is(handle: WorkflowHandle, state: str) -> bool:
    return (await standing_of(handle)).state == state


@scenario
async def bulk_set(stage: Stage) -> WorkflowHandle:
    """What an operation keeps its jobs in."""
    handle = await stage.client.start_workflow(
        "BulkSet", {"jobs": []}, id=f"{stage.queue}-set", task_queue=ORCHESTRATION_QUEUE
    )
    await handle.signal("release")
    await handle.result()
    return handle
