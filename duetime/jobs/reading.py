"""One job with all that the server can tell of its attempts."""

import dataclasses
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from duetime.jobs.facts import Facts, Known, failure_text, fetch
from duetime.jobs.state import is_unknown, record_of
from duetime.jobs.wire import instant


async def fetch_whole(client: Client, job_id: str) -> Facts:
    """The facts of the newest run; who ran an attempt that nobody took down is looked up in its history.

    `NotAJob` when the id is something else's, an `RPCError` when nobody knows it.
    """
    return await with_history(client, await fetch(client, job_id))


async def with_history(client: Client, facts: Facts) -> Facts:
    """`facts` with what only the history knows of its attempts, where there is such."""
    if any(is_unknown(attempt) for attempt in record_of(facts).attempts):
        return dataclasses.replace(facts, known=await _from_history(client, facts))
    return facts


async def _from_history(client: Client, facts: Facts) -> dict[str, Known]:
    """By activity: the worker and the dispatch time in the server's own started event."""
    scheduled: dict[int, str] = {}
    known: dict[str, Known] = {}
    handle = client.get_workflow_handle(facts.id, run_id=facts.run_id)
    async for event in handle.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            activity_id = event.activity_task_scheduled_event_attributes.activity_id
            scheduled[event.event_id] = activity_id
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            started: Any = event.activity_task_started_event_attributes
            activity_id = scheduled.get(started.scheduled_event_id, "")
            failure = failure_text(started.last_failure) if started.HasField("last_failure") else None
            known[activity_id] = Known(started.identity, instant(event.event_time), started.attempt, failure)
    return known
