"""Concurrency limits of queues, kept on the Temporal server alone.

A setting is an execution of type `QueueConcurrency` that never runs: started with the longest delay there is, so that
no worker is needed for it, with what it says in its memo. A change takes the place of the old one in one step of the
server; reading one is exact, reading all is one listing.
"""

from datetime import datetime, timedelta
from typing import Any

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.concurrency import (
    CHANGE,
    QUEUE_SETTING,
    SETTING_MEMO,
    Changed,
    QueueConcurrency,
    limit_of_queue,
    queue_of_setting,
    setting_of_queue,
)
from duetime.contracts.instants import EPOCH
from duetime.contracts.limits import ORCHESTRATION_QUEUE

_NEVER = timedelta(days=36_500)


async def queue_concurrencies(client: Client) -> dict[str, QueueConcurrency]:
    """Those of all queues, as the search index knows them (a moment behind)."""
    found = {}
    query = f"WorkflowType = '{QUEUE_SETTING}' AND ExecutionStatus = 'Running'"
    async for execution in client.list_workflows(query, page_size=500):
        if (setting := await _read(execution)) is not None:
            found[queue_of_setting(execution.id)] = setting
    return found


async def queue_concurrency(client: Client, queue: str) -> QueueConcurrency | None:
    """That of one queue now."""
    try:
        described = await client.get_workflow_handle(setting_of_queue(queue)).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return await _read(described) if described.status is WorkflowExecutionStatus.RUNNING else None


async def _read(execution: WorkflowExecution) -> QueueConcurrency | None:
    """What a setting says. Since when is told by the server's clock alone: of two changes the later one holds."""
    memo = (await execution.memo()).get(SETTING_MEMO)
    if not isinstance(memo, dict):
        return None
    return QueueConcurrency.model_validate({**memo, "since": execution.start_time})


async def set_queue_concurrency(client: Client, queue: str, limit: int, reason: str, by: str) -> None:
    """Sets it; jobs that are dispatched a few seconds later keep to it."""
    await client.start_workflow(
        QUEUE_SETTING,
        id=setting_of_queue(queue),
        task_queue=ORCHESTRATION_QUEUE,
        start_delay=_NEVER,
        id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
        memo={SETTING_MEMO: {"limit": limit, "reason": reason, "by": by}},
        static_summary=f"at most {limit} at once on the queue {queue}",
    )
    if (setting := await queue_concurrency(client, queue)) is not None:
        await _tell(client, queue, setting.limit, setting.since)


async def lift_queue_concurrency(client: Client, queue: str) -> None:
    """Takes it away; those that wait go on at once."""
    handle = client.get_workflow_handle(setting_of_queue(queue))
    try:
        await _end(handle)
        closed = (await handle.describe()).close_time
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return  # There was none.
        raise
    if closed is not None:  # otherwise somebody has set another meanwhile
        await _tell(client, queue, None, closed)


async def _end(handle: WorkflowHandle[Any, Any]) -> None:
    """Nothing when it has ended already: whoever did that may not have told those that wait."""
    try:
        await handle.terminate(reason="no limit any more")
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


async def _tell(client: Client, queue: str, limit: int | None, at: datetime) -> None:
    """Tells those that wait; when nobody does, there is no one to be told."""
    changed = Changed(limit=limit, at=(at - EPOCH) // timedelta(milliseconds=1))
    try:
        await client.get_workflow_handle(limit_of_queue(queue)).signal(
            CHANGE, changed.model_dump(mode="json")
        )
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
