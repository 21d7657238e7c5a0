"""A warning for whoever changes a concurrency limit by submitting a job: its key had another one until now."""

import logging

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from api.problems import is_unknown_id
from api.security.caller import Caller
from duetime.contracts.concurrency import LIMIT_MEMO, limit_of_key
from duetime.contracts.job import JobSpec

log = logging.getLogger("duetime.api")


async def limit_warnings(client: Client, job: JobSpec, caller: Caller) -> list[str]:
    """What to tell `caller` of the limit of the job's key; a caller who sees only a part of the jobs learns nothing of
    the others' limits."""
    wanted = job.concurrency
    if wanted is None or caller.is_bound:
        return []
    try:
        described = await client.get_workflow_handle(limit_of_key(wanted.key)).describe()
        there = (await described.memo()).get(LIMIT_MEMO)
    except RPCError as error:
        if not is_unknown_id(error):
            log.info("the limit of a concurrency key could not be looked up: %s", error)
        return []
    if described.status is not WorkflowExecutionStatus.RUNNING or there in (None, wanted.limit):
        return []
    return [
        f"the limit of the concurrency key {wanted.key!r} is {there} now; with this job it becomes {wanted.limit}, "
        "for all jobs of the key"
    ]
