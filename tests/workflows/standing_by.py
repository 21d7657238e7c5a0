"""One living workflow of each type, and whether somebody has wedged it."""

import uuid
from typing import Any

from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from duetime.contracts.limits import ORCHESTRATION_QUEUE
from tests.support.waiting import eventually
from workflows.worker import WORKFLOWS

_JOB = {"kind": "noop", "queue": "nobody-serves-this"}
#: What each lives with until the test is over.
LIVING: dict[str, list[Any]] = {
    "Job": [_JOB | {"delay": "1h"}],
    "Pipeline": [{"jobs": {"first": _JOB}}],
    "FanOut": [
        {
            "$duetime": 1,
            "job": _JOB,
            "items": [1, 2],
            "max_parallel": 1,
            "origin": {"pipeline_id": "p", "run_id": "r"},
        }
    ],
    "Schedule": [],
    "ConcurrencyLimit": [],
    "BulkOperation": [
        {
            "$duetime": 1,
            "action": "retry",
            "query": "WorkflowId = 'nobody'",
            "states": ["failed"],
            "dry_run": True,
        }
    ],
    "BulkSet": [{"jobs": []}],
}


def definition(type: str) -> Any:
    """What the SDK knows of a workflow type: `signals`, `updates` and `queries` by name."""
    found = [workflow._Definition.must_from_class(cls) for cls in WORKFLOWS]
    return next(one for one in found if (one.name or "Job") == type)


async def living(client: Client, type: str, *arguments: Any, **options: Any) -> WorkflowHandle[Any, Any]:
    return await client.start_workflow(
        type,
        args=arguments or LIVING[type],
        id=f"by-hand-{uuid.uuid4()}",
        task_queue=ORCHESTRATION_QUEUE,
        **options,
    )


async def is_fine(handle: WorkflowHandle[Any, Any]) -> None:
    """Waits until it has heard all that was said to it; fails when a workflow task does."""
    await eventually(lambda: _is_idle(handle))
    failed = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
    assert failed not in [event.event_type async for event in handle.fetch_history_events()]


async def _is_idle(handle: WorkflowHandle[Any, Any]) -> bool:
    described = (await handle.describe()).raw_description
    if not described.HasField("pending_workflow_task"):
        return True
    assert described.pending_workflow_task.attempt == 1, "a workflow task fails, again and again"
    return False
