"""Lives of schedules, as their entities have them: commands one after the other, then the end."""

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import WithStartWorkflowOperation, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy

from duetime.contracts.instants import format_instant
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.schedule_book import BOOK, SCHEDULE
from duetime.schedules.ids import entity_id
from tests.replay.stage import Stage, scenario
from tests.support.waiting import eventually


async def _put(stage: Stage, **fields: Any) -> WorkflowHandle:
    """The entity of a schedule whose jobs go to the queue of the stage, after a `put`."""
    job = {"kind": "ok", "queue": stage.queue}
    work = {"pipeline": fields["pipeline"]} if "pipeline" in fields else {"job": job}
    spec = {"cron": "0 0 1 1 *", **fields, **work}
    start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        SCHEDULE,
        id=entity_id(stage.queue),
        task_queue=ORCHESTRATION_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    put = {"id": stage.queue, "spec": spec, **work, "in_words": "as it is", "by": "recorder"}
    await stage.client.execute_update_with_start_workflow("put", put, start_workflow_operation=start)
    return stage.client.get_workflow_handle(entity_id(stage.queue))


async def _book(handle: WorkflowHandle) -> dict[str, Any]:
    found: dict[str, Any] = await (await handle.describe()).memo_value(BOOK)
    return found


async def _tell(handle: WorkflowHandle, command: str, **fields: Any) -> Any:
    return await handle.execute_update(command, {"by": "recorder", **fields})


async def _end(handle: WorkflowHandle) -> WorkflowHandle:
    await handle.execute_update("delete")
    await handle.result()
    return handle


@scenario
async def schedule_kept(stage: Stage) -> WorkflowHandle:
    """Put, put again, edited, paused until, left out once, looked after, deleted."""
    handle = await _put(stage)
    await _put(stage)
    await _put(stage, cron="0 12 1 1 *")
    year = datetime.now(UTC).year + 1
    await _tell(handle, "skip", at=f"{year}-01-01T12:00:00Z")
    until = format_instant(datetime.now(UTC) + timedelta(seconds=2))
    await _tell(handle, "pause", reason="a test", until=until)

    async def resumed() -> bool:
        return "end" in (await _book(handle))["pauses"][0]

    await eventually(resumed)
    await handle.signal("check")
    await _tell(handle, "pause", reason="again")
    return await _end(handle)


@scenario
async def schedule_run_by_hand(stage: Stage) -> WorkflowHandle:
    """Runs beside the rule of both sorts, a backfill, and what a pause kept from running."""
    async with stage.worker():
        handle = await _put(stage, overlap="queue_one")
        await _tell(handle, "trigger")
        await _tell(handle, "trigger", overlap="allow")
        past = {"begin": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z", "overlap": "queue_all"}
        await _tell(handle, "backfill", **past, total=1)
        await _tell(handle, "pause", reason="a test")
        await _tell(handle, "resume", missed="run")

        async def filled() -> bool:
            return all("finished_at" in one for one in (await _book(handle))["backfills"])

        await eventually(filled)
        return await _end(handle)


@scenario
async def schedule_of_a_pipeline(stage: Stage) -> WorkflowHandle:
    """In place of a job, and run by hand."""
    async with stage.worker():
        await _put(stage, overlap="allow")
        pipeline = {"jobs": {"a": {"kind": "ok", "queue": stage.queue}}}
        handle = await _put(stage, overlap="allow", pipeline=pipeline)
        await _tell(handle, "trigger")
        return await _end(handle)


@scenario
async def schedule_edited_as_it_fires(stage: Stage) -> WorkflowHandle:
    """An edit right after a time of the rule, which makes the entity look whether the server started it."""
    async with stage.worker():
        handle = await _put(stage, cron="* * * * * *", max_runs=1_000)

        async def fired() -> bool:
            query = f"TemporalScheduledById = '{stage.queue}'"
            return (await stage.client.count_workflows(query)).count > 0

        await eventually(fired)
        await _put(stage, cron="* * * * * *", max_runs=1_000, note="edited")

        async def looked() -> bool:
            book = await _book(handle)
            return not book.get("edits")

        await eventually(looked)
        return await _end(handle)
