"""An attempt that has ended and of which the job's workflow has not heard yet.

The server does not list it among what is pending any more, and it is for the workflow to take it down. That is a matter
of milliseconds, or of hours when nobody runs the workflows: meanwhile the end of the history has it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client
from temporalio.exceptions import CancelledError

from duetime.contracts.job import Retry
from duetime.contracts.record import Record, read_done
from duetime.decisions import Situation, Step, after_end, after_return
from duetime.jobs.ended import ended_by
from duetime.jobs.wire import decode_all, instant

_PAGE = 20
#: An end further back than this is not looked for: so many signals came since the attempt began.
_FAR = 400
_ENDS = {
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: "activity_task_completed_event_attributes",
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: "activity_task_failed_event_attributes",
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: "activity_task_timed_out_event_attributes",
    EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: "activity_task_canceled_event_attributes",
}


@dataclass(frozen=True)
class _End:
    """The end of an activity, and what the server says of its beginning."""

    event: HistoryEvent
    said: Any
    dispatch: str
    worker: str | None


async def undecided(
    client: Client, execution: WorkflowExecution, record: Record, retry: Retry
) -> Record | None:
    """`record` with the attempt that ended since the workflow decided last; `None` when none has."""
    end = await _newest_end(client, execution)
    if end is None:
        return None
    now = instant(end.event.event_time)
    situation = Situation(record=record, dispatch=end.dispatch, retry=retry, now=now, chance=0.0)
    step = await _step(client, end, situation)
    return step.record if step else None


async def _step(client: Client, end: _End, situation: Situation) -> Step | None:
    """What the workflow will make of it, of which the record is all that is certain already; `None` where not even
    that is."""
    match end.event.event_type:
        case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            values = await decode_all(client, end.said.result)
            # Another's result may still be found to be none by the workflow.
            return after_return(values[0], situation) if values and read_done(values[0]) else None
        case EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
            cause: BaseException = CancelledError("", *await decode_all(client, end.said.details))
        case _:
            cause = await client.data_converter.decode_failure(end.said.failure)
    return after_end(ended_by(cause, end.worker, began=end.worker is not None), situation)


async def _newest_end(client: Client, execution: WorkflowExecution) -> _End | None:
    """The end of an attempt that came after the workflow's last decision."""
    event: HistoryEvent | None = None
    said: Any = None
    worker: str | None = None
    async for one in _backwards(client, execution):
        if event is None:
            if one.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
                return None
            if one.event_type in _ENDS:
                event, said = one, getattr(one, _ENDS[one.event_type])
        elif one.event_id == said.started_event_id:
            worker = one.activity_task_started_event_attributes.identity or None
        elif one.event_id == said.scheduled_event_id:
            dispatch = one.activity_task_scheduled_event_attributes.activity_id
            return _End(event, said, dispatch, worker) if dispatch.isdigit() else None
    return None


async def _backwards(client: Client, execution: WorkflowExecution) -> AsyncIterator[HistoryEvent]:
    token, told = b"", 0
    while told < _FAR:
        page = await client.workflow_service.get_workflow_execution_history_reverse(
            GetWorkflowExecutionHistoryReverseRequest(
                namespace=client.namespace,
                execution=execution,
                maximum_page_size=_PAGE,
                next_page_token=token,
            ),
            retry=True,
        )
        for event in page.history.events:
            yield event
        told += len(page.history.events)
        token = page.next_page_token
        if not token:
            return
