"""Child workflows of a pipeline: begun within what the engine can take, stopped in order, and how they ended."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    ChildWorkflowError,
    TemporalError,
    TerminatedError,
    TimeoutError,
    WorkflowAlreadyStartedError,
)

from activities.endings import LAST_RUN
from duetime.contracts import limits
from duetime.contracts.carry import StopRequest
from duetime.contracts.job import JOB
from duetime.contracts.json_value import check_json, sendable
from duetime.contracts.pipeline import FAN_OUT
from duetime.contracts.pipeline_state import Mark
from duetime.contracts.record import Error, cut
from duetime.contracts.states import ErrorType
from workflows.room import TaskBudget, fits, is_worn, room_for

#: How long an earlier execution under the same id may take to end, once it was told to.
_ENDING = timedelta(minutes=5)
#: A replay mark: before it, what children may return was guessed from those that had ended.
_PATCH = "room-for-returns"
#: What a history holds of a child beside its input and its result.
_OVERHEAD = 4 * 1024
#: What is given to children and comes back from them was checked before: only its size is of interest.
_MOST, _DEEP = sys.maxsize, limits.JSON_DEPTH + 10
#: A job that was cancelled says so by its status; one with items keeps what is done, and so fails.
_MARKS = {
    (JOB, ErrorType.DEADLINE_EXCEEDED.value): Mark.EXPIRED,
    (FAN_OUT, ErrorType.CANCELLED.value): Mark.CANCELLED,
}


@dataclass(frozen=True)
class Planned:
    """A child to begin."""

    type: str
    id: str
    arguments: list[Any]
    attributes: TypedSearchAttributes
    priority: int
    summary: str
    #: Bytes of what it may return.
    returns: int


@dataclass(frozen=True)
class Ended:
    """How a child ended: `left` is its result, or the details of its failure."""

    mark: Mark
    left: dict[str, Any]
    error: Error | None = None


class Children:
    """The children of this workflow that are under way."""

    def __init__(self, parallel: int, *, renewed: bool = True) -> None:
        #: `renewed` where the workflow goes on in a fresh history once its own is worn. Where it does not, nothing may
        #: wait for that.
        self._parallel, self._renewed = parallel, renewed
        self._handles: dict[str, Any] = {}
        self._stops: dict[str, StopRequest] = {}
        self._budget = TaskBudget()
        self._largest = 0
        #: What is set aside for all that may come back, and how many children it left no room for.
        self._reserved = self._held = 0
        #: Kept, since the loop by itself holds tasks only weakly.
        self._telling: set[asyncio.Task[None]] = set()

    def room(self, running: int) -> int:
        """How many more may begin now."""
        info = workflow.info()
        size, events = info.get_current_history_size(), info.get_current_history_length()
        return room_for(self._parallel, running, size, events, self._largest)

    @staticmethod
    def is_worn() -> bool:
        """Whether the history of this workflow is to be renewed."""
        info = workflow.info()
        return is_worn(info.get_current_history_size(), info.get_current_history_length())

    def may_start_over(self, running: int) -> bool:
        """Whether it takes a fresh history to go on, and nothing is under way that this one would have to hear of.
        `running` counts those that wait for room too."""
        return not self._reserved and self.is_worn() and (not running or self._held > 0)

    def stop(self, child_id: str, request: StopRequest) -> None:
        """Cancels a child, also one that is only about to begin."""
        if child_id in self._stops:
            return
        self._stops[child_id] = request
        if child_id in self._handles:
            telling = asyncio.create_task(_tell(self._handles[child_id], request))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def run(self, planned: Planned) -> Ended:
        """Begins a child and waits for its end."""
        try:
            size = check_json(planned.arguments, _MOST, _DEEP)
            handle = await self._begin(planned, size)
            if handle is None:
                return Ended(Mark.CANCELLED, {})
            ended = await self._until_end(planned, handle)
            self._largest = max(self._largest, size + check_json(ended.left, _MOST, _DEEP) + _OVERHEAD)
            return ended
        except WorkflowAlreadyStartedError:
            message = f"the id {planned.id!r} belongs to another execution that is still open"
            return Ended(Mark.FAILED, {}, Error(type=ErrorType.ID_IN_USE, message=message))
        finally:
            self._stops.pop(planned.id, None)

    async def _begin(self, planned: Planned, size: int) -> Any:
        """The handle of the child that began; `None` when it was stopped before."""
        with contextlib.suppress(WorkflowAlreadyStartedError):
            return await self._start(planned, size)
        await last_run(planned.id)  # one of an earlier run of the pipeline may still be ending
        return await self._start(planned, size)

    async def _start(self, planned: Planned, size: int) -> Any:
        length = workflow.info().get_current_history_length
        stops, budget = self._stops, self._budget
        while True:
            await workflow.wait_condition(lambda: planned.id in stops or budget.allows(size, length()))
            if planned.id in stops:
                return None
            if not self._fits(size, planned.returns) and workflow.patched(_PATCH):
                await self._until(lambda: planned.id in stops or self._fits(size, planned.returns))
            elif budget.take(size, length()):
                break
        self._set_aside(planned.returns)
        try:
            return await self._start_now(planned, size)
        except BaseException:
            self._give_back(planned.returns)
            raise

    def _fits(self, given: int, returns: int) -> bool:
        info = workflow.info()
        events = info.get_current_history_length()
        begun = self._budget.taken if self._budget.events == events else 0
        length = info.get_current_history_size() + begun
        worn = self._renewed and is_worn(length, events)
        return fits(length, worn, self._reserved, given, returns + _OVERHEAD)

    @contextlib.asynccontextmanager
    async def room_for(self, size: int) -> AsyncIterator[None]:
        """Room in the history for so many bytes that something else than a child brings, beside what is under way."""
        if not self._fits(0, size):
            await self._until(lambda: self._fits(0, size))
        self._set_aside(size)
        try:
            yield
        finally:
            self._give_back(size)

    def _set_aside(self, returns: int) -> None:
        self._reserved += returns + _OVERHEAD

    def _give_back(self, returns: int) -> None:
        self._reserved -= returns + _OVERHEAD

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Waits for room, which a fresh history may have to make."""
        self._held += 1
        try:
            await workflow.wait_condition(condition)
        finally:
            self._held -= 1

    async def _start_now(self, planned: Planned, size: int) -> Any:
        self._largest = max(self._largest, size + _OVERHEAD)
        return await workflow.start_child_workflow(
            planned.type,
            args=planned.arguments,
            id=planned.id,
            result_type=dict[str, Any],
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
            cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
            search_attributes=planned.attributes,
            priority=Priority(priority_key=planned.priority),
            static_summary=planned.summary,
        )

    async def _until_end(self, planned: Planned, handle: Any) -> Ended:
        child_id = planned.id
        self._handles[child_id] = handle
        try:
            if child_id in self._stops:
                await _tell(handle, self._stops[child_id])
            return Ended(Mark.SUCCEEDED, await handle)
        except ChildWorkflowError as error:
            return _not_succeeded(planned.type, error)
        finally:
            self._give_back(planned.returns)
            del self._handles[child_id]


async def last_run(child_id: str) -> dict[str, Any]:
    """What the last execution under this id left, once it has ended; empty when there is none, or it does not end."""
    try:
        told: dict[str, Any] = await workflow.execute_activity(
            LAST_RUN,
            child_id,
            result_type=dict[str, Any],
            start_to_close_timeout=timedelta(seconds=30),
            schedule_to_close_timeout=_ENDING,
            summary="the execution before this one",
        )
        return told
    except ActivityError:
        return {}


async def _tell(handle: Any, request: StopRequest) -> None:
    with contextlib.suppress(TemporalError):  # it has ended meanwhile
        await handle.signal("stop", request.model_dump(mode="json", exclude_defaults=True))
    handle.cancel()


def _not_succeeded(type_: str, error: ChildWorkflowError) -> Ended:
    cause = error.cause
    match cause:
        case ApplicationError():
            told = cause.details[0] if cause.details else None
            left = told if isinstance(told, dict) else {}
            mark = _MARKS.get((type_, cause.type or ""), Mark.FAILED)
            return Ended(mark, left, _error(cause.type or "Error", cause.message))
        case CancelledError() | TerminatedError():
            return Ended(Mark.CANCELLED, {}, _error(ErrorType.CANCELLED, str(cause) or "cancelled"))
        case TimeoutError():
            return Ended(Mark.EXPIRED, {}, _error("WorkflowTimeout", str(cause)))
    return Ended(Mark.FAILED, {}, _error(type(cause).__name__, str(cause)))


def _error(kind: str, message: str) -> Error:
    """Short: the job's own execution tells the whole."""
    return Error(
        type=cut(kind, limits.ERROR_TYPE_LENGTH), message=cut(sendable(message), limits.BRIEF_MESSAGE_LENGTH)
    )
