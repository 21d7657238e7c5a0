"""How far our clock and the server's are apart.

The server stamps whoever polls a queue with its own time. So we poll one that nobody else uses, and read the stamp: it
costs no job, needs no worker, and leaves nothing but the name of a queue.
"""

import asyncio
import contextlib
import uuid
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, PollActivityTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from duetime.doctor.findings import Finding, error, ok, warning

_QUEUE = "duetime-doctor"
_PATIENCE = timedelta(seconds=5)
#: Due times and retries are kept to about a second.
_NOTICED = timedelta(seconds=2)
_HARMFUL = timedelta(seconds=30)


async def clock(client: Client) -> list[Finding]:
    """One finding, or a warning that it could not be told."""
    try:
        async with asyncio.timeout(_PATIENCE.total_seconds()):
            return [difference(await _ahead(client))]
    except (RPCError, TimeoutError) as fault:
        fix = "compare `date -u` here and on the server's machines"
        return [warning("clock", f"the server's clock cannot be read ({fault or 'no answer in time'})", fix)]


def difference(ahead: timedelta) -> Finding:
    """`ahead` is how far the server's clock is ahead of ours."""
    seconds = abs(ahead).total_seconds()
    says = f"this machine's clock is {seconds:.1f} s {'behind' if ahead > timedelta(0) else 'ahead of'} the server's"
    fix = "keep both by NTP: due times, lateness and the lives of workers are told by comparing them"
    if abs(ahead) >= _HARMFUL:
        return error("clock", says, fix)
    return warning("clock", says, fix) if abs(ahead) >= _NOTICED else ok("clock", says)


async def _ahead(client: Client) -> timedelta:
    me = f"duetime-doctor-{uuid.uuid4().hex}"
    before = datetime.now(UTC)
    poll = asyncio.ensure_future(
        client.workflow_service.poll_activity_task_queue(
            PollActivityTaskQueueRequest(
                namespace=client.namespace, task_queue=TaskQueue(name=_QUEUE), identity=me
            ),
            timeout=_PATIENCE,
        )
    )
    try:
        while True:
            stamp = await _stamp(client, me)
            if stamp is not None:
                return stamp - (before + (datetime.now(UTC) - before) / 2)
            await asyncio.sleep(0.02)
    finally:
        poll.cancel()
        with contextlib.suppress(asyncio.CancelledError, RPCError):
            await poll


async def _stamp(client: Client, identity: str) -> datetime | None:
    described = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=_QUEUE),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
    )
    stamps = [one.last_access_time for one in described.pollers if one.identity == identity]
    return stamps[0].ToDatetime(tzinfo=UTC) if stamps else None
