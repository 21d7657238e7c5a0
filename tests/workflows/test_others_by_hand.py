"""Workflows of our own that somebody starts by hand, with whatever: they fail and say what to do, and never loop."""

import asyncio
import uuid
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import RawValue

from duetime.contracts.limits import ORCHESTRATION_QUEUE
from tests.support.jobs import outcome_of
from tests.workflows.test_by_hand import workflow_tasks

ODD = RawValue(Payload(metadata={"encoding": b"odd/one"}, data=b"\xff"))
PUT = {"id": "s", "spec": {"cron": "@daily"}, "job": {"kind": "noop"}}
BOOK = PUT | dict.fromkeys(("created_at", "updated_at", "judged_until"), "2027-01-15T08:00:00Z")
PLAN = {"action": "retry", "query": "WorkflowId = 'nobody'", "states": ["failed"]}

BAD: dict[str, list[list[Any]]] = {
    "Schedule": [["x"], [PUT], [BOOK], [{}], [0], [ODD], [None, None], [BOOK, 2, 3]],
    "BulkOperation": [[], [None], ["x"], [{}], [ODD], [PLAN, "x"], [PLAN, {"number": "x"}], [1, 2, 3]],
    "BulkSet": [[], [None], ["x"], [{"jobs": 1}], [ODD], [{"jobs": []}, 2]],
}
SAYS = {
    "Schedule": ("InvalidSchedule", "PUT /v1/schedules/{id}"),
    "BulkOperation": ("InvalidOperation", "POST /v1/jobs:retry or /v1/jobs:cancel"),
    "BulkSet": ("InvalidOperation", "POST /v1/jobs:retry or /v1/jobs:cancel"),
}


@pytest.mark.parametrize("type", BAD)
async def test_wrong_arguments_fail_readably_and_never_loop(
    type: str, client: Client, orchestration: None
) -> None:
    handles: list[WorkflowHandle[Any, Any]] = [
        await client.start_workflow(
            type, args=arguments, id=f"by-hand-{uuid.uuid4()}", task_queue=ORCHESTRATION_QUEUE
        )
        for arguments in BAD[type]
    ]
    for arguments, ended in zip(BAD[type], await asyncio.gather(*map(outcome_of, handles)), strict=True):
        assert (ended.status, ended.type) == (WorkflowExecutionStatus.FAILED, SAYS[type][0]), arguments
        assert ended.message.endswith(SAYS[type][1]) and len(ended.message) < 200, arguments
    assert [await workflow_tasks(handle) for handle in handles] == [1] * len(handles)
