"""Who waits for a job that somebody ends from outside, so that no code of its own tells them."""

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from duetime.jobs.facts import Facts
from duetime.jobs.names import DEPENDENT
from duetime.jobs.wire import decode_all

#: Events, of which a page of history has a thousand.
_SHORT = 500


async def dependents_of(client: Client, facts: Facts) -> list[str]:
    """Ids of the jobs that registered with this one, as far as one can know.

    A job keeps them in its memo. What it has not come to yet (the server still delays its start, say) lies in its
    history, which is read unless it is long.
    """
    found = dict.fromkeys(facts.dependents)
    if facts.events > _SHORT:
        return list(found)
    handle = client.get_workflow_handle(facts.id, run_id=facts.run_id)
    async for event in handle.fetch_history_events():
        if event.event_type != EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            continue
        signal = event.workflow_execution_signaled_event_attributes
        values = await decode_all(client, signal.input) if signal.signal_name == DEPENDENT else []
        if values and isinstance(values[0], str):
            found[values[0]] = None
    return list(found)
