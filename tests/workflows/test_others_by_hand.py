"""Workflows of our own that somebody starts by hand, with whatever: they fail and say what to do, and never loop."""

import asyncio
import uuid
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle

from duetime.contracts.bulk import STANDING
from duetime.contracts.concurrency import LIMIT_MEMO
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.schedules.ids import entity_id
from tests.support.jobs import outcome_of
from tests.workflows.rubbish import NOTHING, ODD, RUBBISH
from tests.workflows.standing_by import is_fine, living
from tests.workflows.test_by_hand import workflow_tasks

PUT = {"id": "s", "spec": {"cron": "@daily"}, "job": {"kind": "noop"}}
BOOK = PUT | dict.fromkeys(("created_at", "updated_at", "judged_until"), "2027-01-15T08:00:00Z")
PLAN = {"action": "retry", "query": "WorkflowId = 'nobody'", "states": ["failed"]}
PIPELINE = {"jobs": {"a": {"kind": "noop"}}}
ITEMS = {
    "$duetime": 1,
    "job": {"kind": "noop"},
    "items": [1, 2],
    "max_parallel": 1,
    "origin": {"pipeline_id": "p", "run_id": "r"},
}

#: What each is given beside the rubbish.
BAD: dict[str, list[list[Any]]] = {
    "Job": [],
    "NoSuchType": [],
    "Schedule": [[PUT], [BOOK], [{}], [BOOK, 2, 3], [BOOK, ODD]],
    "BulkOperation": [[], [None], [PLAN, {"number": "x"}], [PLAN, ODD]],
    "BulkSet": [[], [None], [{"jobs": 1}], [{"jobs": []}, 2], [{"jobs": []}, ODD]],
    "Pipeline": [
        [PIPELINE, ODD],
        [PIPELINE, {"$duetime": 1, "marks": "?"}],
        [PIPELINE, {"$duetime": 1, "marks": "ssssss", "halt": "x"}],
    ],
    "FanOut": [[ITEMS, ODD], [ITEMS | {"done": {"marks": "??"}}], [ITEMS | {"done": {"marks": "s"}}]],
}
SAYS = {
    "Job": ("InvalidJob", ""),
    "NoSuchType": ("InvalidJob", "start 'Job'"),
    "Schedule": ("InvalidSchedule", "PUT /v1/schedules/{id}"),
    "BulkOperation": ("InvalidOperation", "POST /v1/jobs:retry or /v1/jobs:cancel"),
    "BulkSet": ("InvalidOperation", "POST /v1/jobs:retry or /v1/jobs:cancel"),
    "Pipeline": ("InvalidPipeline", ""),
    "FanOut": ("InvalidPipeline", "start workflow type `Pipeline`"),
}


@pytest.mark.parametrize("type", BAD)
async def test_wrong_arguments_fail_readably_and_never_loop(
    type: str, client: Client, orchestration: None
) -> None:
    # An empty start is how the API makes a schedule's entity, which ends by itself when nothing comes.
    nothing = {} if type == "Schedule" else NOTHING
    given = [*RUBBISH.values(), *nothing.values(), *BAD[type]]
    handles: list[WorkflowHandle[Any, Any]] = [
        await client.start_workflow(
            type, args=arguments, id=f"by-hand-{uuid.uuid4()}", task_queue=ORCHESTRATION_QUEUE
        )
        for arguments in given
    ]
    for arguments, ended in zip(given, await asyncio.gather(*map(outcome_of, handles)), strict=True):
        assert (ended.status, ended.type) == (WorkflowExecutionStatus.FAILED, SAYS[type][0]), arguments
        assert SAYS[type][1] in ended.message and 10 < len(ended.message) < 600, (arguments, ended.message)
    assert [await workflow_tasks(handle) for handle in handles] == [1] * len(handles)


async def test_a_book_of_no_schedule_is_refused(client: Client, orchestration: None) -> None:
    id = f"by-hand-{uuid.uuid4()}"
    handle: WorkflowHandle[Any, Any] = await client.start_workflow(
        "Schedule", BOOK | {"id": id, "spec": {"cron": 5}}, id=entity_id(id), task_queue=ORCHESTRATION_QUEUE
    )
    assert (await outcome_of(handle)).type == "InvalidSchedule"


async def test_a_limit_lives_whatever_it_was_started_with(client: Client, orchestration: None) -> None:
    """Jobs count on it, however it came to be there."""
    handles = [await living(client, "ConcurrencyLimit", *arguments) for arguments in RUBBISH.values()]
    for handle in handles:
        await is_fine(handle)
        await handle.terminate()


@pytest.mark.parametrize(
    "type", ["Job", "Pipeline", "Schedule", "ConcurrencyLimit", "BulkOperation", "FanOut"]
)
async def test_a_memo_of_anything_is_no_matter(type: str, client: Client, orchestration: None) -> None:
    memos: list[dict[str, Any]] = [
        {"mine": ODD, LIMIT_MEMO: ODD, STANDING: ODD},
        {LIMIT_MEMO: {"x": 1}, STANDING: {"total": "x"}},
        {LIMIT_MEMO: [], STANDING: 5},
    ]
    for memo in memos:
        handle = await living(client, type, memo=memo)
        await is_fine(handle)
        await handle.terminate()
