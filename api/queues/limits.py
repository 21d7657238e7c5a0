"""What a concurrency limit says of itself: who has its places, and where in the line a job is."""

import asyncio

from temporalio.client import Client, WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.service import RPCError

from duetime.contracts.concurrency import LINE, Line

#: Seconds: whoever runs the workflows answers at once, or is not there.
_PATIENCE = 1.5


async def read_line(client: Client, limit_id: str, job_id: str) -> Line | None:
    """How the limit stands, as the job sees it; `None` when nobody can say."""
    try:
        async with asyncio.timeout(_PATIENCE):
            told = await client.get_workflow_handle(limit_id).query(LINE, job_id)
    except (TimeoutError, RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        return None
    return Line.model_validate(told)
