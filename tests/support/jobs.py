"""Starting jobs as any Temporal client does, and reading what became of them."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError

from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.record import VIEW, Attempt, Ending, Record, View, read_sign
from tests.support.waiting import eventually

#: Quick failures for tests: the server's timers still make a second of each wait.
NO_WAIT = {"initial_interval": 0, "jitter": 0}


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its state on the server, and what its workflow left behind."""

    status: WorkflowExecutionStatus
    result: Any = None
    type: str = ""
    message: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    ending: Ending = field(default_factory=Ending)

    @property
    def outcomes(self) -> list[str]:
        return [attempt.outcome.value for attempt in self.attempts]

    @property
    def tokens(self) -> list[int]:
        return [attempt.fencing_token or 0 for attempt in self.attempts]


@dataclass(frozen=True)
class Jobs:
    """Jobs on one queue."""

    client: Client
    queue: str

    async def start(self, kind: str, payload: Any = None, *, id: str = "", **fields: Any) -> WorkflowHandle:
        """One job, started on the server as the contract says anybody may."""
        job = {"kind": kind, "queue": self.queue, **fields}
        if payload is not None:
            job["payload"] = payload
        return await self.start_raw(job, id=id)

    async def start_raw(self, *arguments: Any, id: str = "", **options: Any) -> WorkflowHandle:
        return await self.client.start_workflow(
            "Job",
            args=arguments,
            id=id or f"job-{uuid.uuid4().hex[:12]}",
            task_queue=ORCHESTRATION_QUEUE,
            **options,
        )

    async def run(self, kind: str, payload: Any = None, **fields: Any) -> Outcome:
        return await outcome_of(await self.start(kind, payload, **fields))


async def outcome_of(handle: WorkflowHandle) -> Outcome:
    """Waits for the end of a job."""
    try:
        result = await handle.result()
    except WorkflowFailureError as failure:
        status = (await handle.describe()).status
        cause = failure.cause
        if isinstance(cause, ApplicationError):
            ending = Ending.model_validate(cause.details[0]) if cause.details else Ending()
            return _outcome(status, ending, cause.type or "", cause.message)
        view = await view_of(handle)
        ending = Ending(**dict(view.record)) if view else Ending()
        assert status is WorkflowExecutionStatus.TERMINATED or isinstance(cause, CancelledError), cause
        return _outcome(status, ending, view.error.type if view and view.error else "")
    return _outcome(WorkflowExecutionStatus.COMPLETED, Ending.model_validate(result))


def _outcome(
    status: WorkflowExecutionStatus | None, ending: Ending, type: str = "", message: str = ""
) -> Outcome:
    assert status is not None
    return Outcome(status, ending.result, type, message, ending.attempts, ending)


async def view_of(handle: WorkflowHandle) -> View | None:
    """What the workflow published in its memo."""
    memo = await (await handle.describe()).memo()
    return View.model_validate(memo[VIEW]) if VIEW in memo else None


async def reason_of(handle: WorkflowHandle) -> str | None:
    view = await view_of(handle)
    return view.reason if view else None


async def pending(handle: WorkflowHandle) -> PendingActivityInfo | None:
    """The activity under way."""
    found = (await handle.describe()).raw_description.pending_activities
    return found[0] if found else None


async def is_held(handle: WorkflowHandle) -> bool:
    """Whether a worker has the job now."""
    activity = await pending(handle)
    return activity is not None and activity.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED


async def is_queued(handle: WorkflowHandle) -> bool:
    """Whether the job waits for a worker that has not come."""
    activity = await pending(handle)
    return activity is not None and activity.attempt == 1 and not activity.HasField("last_started_time")


async def is_backing_off(handle: WorkflowHandle) -> bool:
    """Whether the server waits before it hands the job out again."""
    activity = await pending(handle)
    return activity is not None and activity.attempt > 1 and not await is_held(handle)


async def heard(handle: WorkflowHandle) -> Record | None:
    """The record in the last sign of life, once there is one."""
    activity = await pending(handle)
    if activity is None or not activity.HasField("heartbeat_details"):
        return None
    data_converter = handle._client.data_converter
    sign = read_sign(await data_converter.decode(activity.heartbeat_details.payloads))
    return sign.record if sign else None


async def held(handle: WorkflowHandle) -> None:
    await eventually(lambda: is_held(handle))


async def acknowledged(handle: WorkflowHandle) -> Record:
    """Waits until the worker of the running attempt was heard of."""
    record = await eventually(lambda: heard(handle))
    assert record is not None
    return record
