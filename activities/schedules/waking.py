"""Telling every schedule to look for missed times, when the server may have been away.

Timers of an entity would tell too, and cost the server more the sooner they did. A worker that cannot reach the server
for a moment knows at once; so does one that has just started.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.schedule_book import SCHEDULE

log = logging.getLogger("duetime.schedules")

#: Seconds between two looks at the server.
_PAUSE = 3.0
_AT_ONCE = 10
_TIMEOUT = timedelta(seconds=5)


@contextlib.asynccontextmanager
async def waking_schedules(client: Client) -> AsyncIterator[None]:
    """Wakes them now, and after each time that the server could not be reached, for as long as this lasts."""
    watching = asyncio.create_task(_watch(client))
    try:
        yield
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


async def _watch(client: Client) -> None:
    stale = True
    while True:
        try:
            if not await client.service_client.check_health(timeout=_TIMEOUT):
                stale = True
            elif stale:
                await wake(client)
                stale = False
        except (RPCError, RuntimeError) as error:
            if not stale:
                log.warning("Temporal is away; missed times are looked for when it is back: %s", error)
            stale = True
        await asyncio.sleep(_PAUSE)


async def wake(client: Client) -> int:
    """Has every schedule look for missed times; how many there are."""
    query = f"WorkflowType = '{SCHEDULE}' AND ExecutionStatus = 'Running'"
    ids = [found.id async for found in client.list_workflows(query)]
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(workflow_id: str) -> None:
        async with places:
            try:
                await client.get_workflow_handle(workflow_id).signal("check")
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:  # deleted meanwhile
                    raise

    await asyncio.gather(*(one(workflow_id) for workflow_id in ids))
    return len(ids)
