"""Lives of pipelines, one for each way through their workflows."""

from typing import Any

from temporalio.client import WorkflowHandle

from duetime.contracts.pipeline import job_id, part_id
from duetime.contracts.pipeline_state import PROGRESS
from tests.replay.stage import Stage, scenario
from tests.support.waiting import eventually
from workflows.pipeline_input import PipelineCarry


async def begin(stage: Stage, jobs: dict[str, dict[str, Any]], *more: Any, **fields: Any) -> WorkflowHandle:
    told = {name: {"queue": stage.queue, **job} for name, job in jobs.items()}
    return await stage.client.start_workflow(
        "Pipeline", args=[{"jobs": told, **fields}, *more], id=f"{stage.queue}-pipeline", task_queue="duetime"
    )


async def over(handle: WorkflowHandle) -> WorkflowHandle:
    """Its history once it has ended, however."""

    async def ended() -> bool:
        return (await handle.describe()).close_time is not None

    await eventually(ended)
    return handle


async def marks(handle: WorkflowHandle) -> str:
    memo = await (await handle.describe()).memo()
    return str(memo.get(PROGRESS, {}).get("marks", ""))


def listing(**fields: Any) -> dict[str, Any]:
    return {"kind": "ok", "payload": {"list": [{"n": 1}, {"n": 2}, {"times": 0}]}, **fields}


def each(kind: str = "ok", **fields: Any) -> dict[str, Any]:
    over_what = {"for_each": {"$result": "list.list"}, "needs": ["list"], "max_parallel": 2}
    return {"kind": kind, "payload": {"$item": ""}, **over_what, **fields}


@scenario
async def pipeline_of_all_conditions(stage: Stage) -> WorkflowHandle:
    jobs = {
        "a": {"kind": "ok", "payload": {"x": [1, 2]}},
        "b": {"kind": "fails", "needs": ["a"], "retry": {"max_attempts": 1}},
        "c": {"kind": "ok", "needs": ["a"], "payload": {"x": {"$result": "a.x.1"}}},
        "d": {"kind": "ok", "needs": ["b", "c"]},
        "alarm": {"kind": "ok", "needs": ["d"], "when": "any_failed"},
        "first": {"kind": "ok", "needs": ["b", "c"], "when": "any_succeeded"},
        "clean": {"kind": "ok", "needs": ["d"], "when": "always"},
        "no": {"kind": "ok", "needs": ["c"], "when": "any_failed"},
        "bad": {"kind": "ok", "needs": ["a"], "payload": {"x": {"$result": "a.y"}}},
    }
    async with stage.worker():
        return await over(await begin(stage, jobs, max_parallel=2, deadline="1h"))


@scenario
async def pipeline_with_items(stage: Stage) -> WorkflowHandle:
    jobs = {
        "list": listing(),
        "each": each(),
        "all": {"kind": "ok", "needs": ["each"], "payload": {"x": {"$result": "each"}}},
    }
    async with stage.worker():
        return await over(await begin(stage, jobs))


@scenario
async def items(stage: Stage) -> WorkflowHandle:
    jobs = {"list": listing(), "each": each("fails", retry={"max_attempts": 1})}
    async with stage.worker():
        handle = await over(await begin(stage, jobs))
    return stage.client.get_workflow_handle(job_id(handle.id, "each"))


@scenario
async def items_cancelled(stage: Stage) -> WorkflowHandle:
    jobs = {"list": listing(), "each": each("waits", lease="2s")}
    async with stage.worker():
        handle = await begin(stage, jobs)
        item = stage.client.get_workflow_handle(job_id(handle.id, "each", 1))

        async def begun() -> bool:
            try:
                return bool((await item.describe()).raw_description.pending_activities)
            except Exception:
                return False

        await eventually(begun)
        await handle.cancel()
        await over(handle)
    return stage.client.get_workflow_handle(job_id(handle.id, "each"))


@scenario
async def pipeline_stopped_by_a_failure(stage: Stage) -> WorkflowHandle:
    jobs = {
        "long": {"kind": "waits", "lease": "2s"},
        "bad": {"kind": "fails", "retry": {"max_attempts": 1}, "delay": 1},
        "next": {"kind": "ok", "needs": ["long"]},
    }
    async with stage.worker():
        return await over(await begin(stage, jobs, on_failure="stop"))


@scenario
async def pipeline_expired(stage: Stage) -> WorkflowHandle:
    jobs = {
        "long": {"kind": "ok", "delay": "1h"},
        "alarm": {"kind": "ok", "needs": ["long"], "when": "any_failed"},
    }
    async with stage.worker():
        return await over(await begin(stage, jobs, deadline="1s"))


@scenario
async def pipeline_cancelled(stage: Stage) -> WorkflowHandle:
    jobs = {
        "a": {"kind": "ok"},
        "b": {"kind": "ok", "needs": ["a"], "delay": "1h"},
        "c": {"kind": "ok", "needs": ["b"], "when": "always"},
    }

    async def b_waits() -> bool:
        return await marks(handle) == "s>-"

    async with stage.worker():
        handle = await begin(stage, jobs)
        await eventually(b_waits)
        await handle.execute_update("cancel", {"grace": "1s", "reason": "enough"})
        await handle.cancel()
        return await over(handle)


@scenario
async def pipeline_retried(stage: Stage) -> WorkflowHandle:
    """What succeeded is kept; its results are read from its executions."""
    jobs = {
        "list": listing(),
        "each": each("fails", retry={"max_attempts": 1}),
        "all": {"kind": "ok", "needs": ["list"], "payload": {"x": {"$result": "list.list.0"}}},
    }
    async with stage.worker():
        await over(await begin(stage, jobs))
        carry = PipelineCarry(marks="s--", retried=True)
        return await over(await begin(stage, jobs, carry.compact()))


@scenario
async def items_retried(stage: Stage) -> WorkflowHandle:
    handle = await pipeline_retried(stage)
    return stage.client.get_workflow_handle(job_id(handle.id, "each"))


@scenario
async def pipeline_held_back(stage: Stage) -> WorkflowHandle:
    """As a schedule with a stable jitter starts it."""
    jobs = {"a": {"kind": "ok"}, "b": {"kind": "ok", "needs": ["a"]}}
    async with stage.worker():
        return await over(await begin(stage, jobs, {"$duetime": 1, "delay": "1s"}, deadline="1h"))


@scenario
async def pipeline_that_is_none(stage: Stage) -> WorkflowHandle:
    return await over(await begin(stage, {"a": {"kind": "ok", "needs": ["a"]}}))


@scenario
async def items_in_parts(stage: Stage) -> WorkflowHandle:
    """So many at once that their results need the room of two histories."""
    items = [{"n": n} for n in range(33)]
    jobs = {"each": {"kind": "ok", "for_each": items, "payload": {"$item": ""}}}
    async with stage.worker():
        handle = await over(await begin(stage, jobs))
    return stage.client.get_workflow_handle(job_id(handle.id, "each"))


@scenario
async def one_part_of_the_items(stage: Stage) -> WorkflowHandle:
    """The first failed item ends the others, also those of other parts."""
    items = [{"times": 0} for _ in range(33)]
    fields = {"for_each": items, "payload": {"$item": ""}, "retry": {"max_attempts": 1}}
    async with stage.worker():
        handle = await over(await begin(stage, {"each": {"kind": "fails", **fields}}, on_failure="stop"))
    return stage.client.get_workflow_handle(part_id(job_id(handle.id, "each"), 1))


@scenario
async def pipeline_retried_that_reads_once(stage: Stage) -> WorkflowHandle:
    """Several refer to what an earlier run left."""
    jobs = {"list": listing(), "bad": {"kind": "fails", "retry": {"max_attempts": 1}}}
    for name in ("a", "b"):
        jobs[name] = {"kind": "ok", "needs": ["list"], "payload": {"x": {"$result": "list.list.0"}}}
    async with stage.worker():
        await over(await begin(stage, jobs))
        carry = PipelineCarry(marks="s---", retried=True)
        return await over(await begin(stage, jobs, carry.compact()))
