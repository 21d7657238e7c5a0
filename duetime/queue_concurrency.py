"""Concurrency limits of queues, kept on the Temporal server alone.

A setting is an execution of type `QueueConcurrency` that never runs: started with the longest delay there is, so that
no worker is needed for it, with what it says in its memo. A change takes the place of the old one in one step of the
server; reading one is exact, reading all is one listing.
"""

from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecutionStatus
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
        memo = await execution.memo()
        if SETTING_MEMO in memo:
            found[queue_of_setting(execution.id)] = QueueConcurrency.model_validate(memo[SETTING_MEMO])
    return found


async def queue_concurrency(client: Client, queue: str) -> QueueConcurrency | None:
    """That of one queue now."""
    try:
        described = await client.get_workflow_handle(setting_of_queue(queue)).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    memo = await described.memo()
    if described.status is not WorkflowExecutionStatus.RUNNING or SETTING_MEMO not in memo:
        return None
    return QueueConcurrency.model_validate(memo[SETTING_MEMO])


async def set_queue_concurrency(client: Client, queue: str, wanted: QueueConcurrency) -> None:
    """Sets it; jobs that are dispatched a few seconds later keep to it."""
    await client.start_workflow(
        QUEUE_SETTING,
        id=setting_of_queue(queue),
        task_queue=ORCHESTRATION_QUEUE,
        start_delay=_NEVER,
        id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
        memo={SETTING_MEMO: wanted.model_dump(mode="json")},
        static_summary=f"at most {wanted.limit} at once on the queue {queue}",
    )
    await _tell(client, queue, wanted.limit, wanted.since)


async def lift_queue_concurrency(client: Client, queue: str) -> None:
    """Takes it away; those that wait go on at once."""
    try:
        await client.get_workflow_handle(setting_of_queue(queue)).terminate(reason="no limit any more")
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
    await _tell(client, queue, None, datetime.now(UTC))


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
