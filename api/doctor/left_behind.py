"""Schedules of ours that the server goes on firing though the workflow that looks after them is gone: somebody
terminated it, and the API knows nothing of them any more."""

import asyncio

from temporalio.api.workflowservice.v1 import ListSchedulesRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.schedules.server import look
from api.problems import is_unknown_id
from duetime.contracts.job import JOB
from duetime.contracts.pipeline import PIPELINE
from duetime.schedules.ids import entity_id

#: Schedules of the server in the one list, and those of them that are looked at more closely.
_LISTED, _CLOSELY = 1_000, 20


async def left_behind(client: Client, known: set[str]) -> list[str]:
    """The ids of native schedules that we made and nobody looks after; `known` are those that somebody does.

    A schedule that somebody made through Temporal itself is their own, whatever it starts.
    """
    request = ListSchedulesRequest(namespace=client.namespace, maximum_page_size=_LISTED)
    listed = (await client.workflow_service.list_schedules(request, retry=True)).schedules
    unknown = [
        entry.schedule_id
        for entry in listed
        if entry.info.workflow_type.name in (JOB, PIPELINE) and entry.schedule_id not in known
    ]
    looked_at = sorted(unknown)[:_CLOSELY]
    ours = await asyncio.gather(*(_is_left(client, schedule_id) for schedule_id in looked_at))
    return [schedule_id for schedule_id, is_ours in zip(looked_at, ours, strict=True) if is_ours]


async def _is_left(client: Client, schedule_id: str) -> bool:
    """By a close look: lists are a moment behind, and one that is just being put is in none."""
    server, lives = await asyncio.gather(look(client, schedule_id), _lives(client, schedule_id))
    return server.exists and server.applied > 0 and not lives


async def _lives(client: Client, schedule_id: str) -> bool:
    try:
        found = await client.get_workflow_handle(entity_id(schedule_id)).describe()
    except RPCError as error:
        if is_unknown_id(error):
            return False
        raise
    return found.status is WorkflowExecutionStatus.RUNNING
