"""The workflow of one job of a pipeline that runs once for each item of a list, each item a child of its own.

It has a history of its own, so that a long list is no burden for the pipeline. When that has grown too much it begins a
fresh one, at a moment when no item is under way. The items of a long list are divided among parts, workflows of this
same type whose children they are then.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, NoReturn

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, TemporalError

with workflow.unsafe.imports_passed_through():
    from activities.endings import ITEMS_ENDING
    from duetime import attributes
    from duetime.contracts import limits
    from duetime.contracts.carry import StopRequest
    from duetime.contracts.instants import parse_instant
    from duetime.contracts.json_value import sendable
    from duetime.contracts.pipeline import FAN_OUT
    from duetime.contracts.pipeline_state import ITEMS, ITEMS_OF, ItemCounts, ItemsEnding, Mark
    from duetime.contracts.record import Error, cut
    from duetime.contracts.references import BadReference
    from duetime.contracts.states import ErrorType, State
    from workflows.children import Children, Ended, Planned, last_run
    from workflows.fan_out_input import FanOutInput, listed_bytes, plan_parts
    from workflows.forgiving import forgiving
    from workflows.memo import whole_memo
    from workflows.planning import Unfit, bad_reference, plan_job
    from workflows.raw import raw
    from workflows.values import put_item, read_results

#: How long the memo may lag behind the counts: each entry in it costs about as much as a tenth of an item.
_LAG = timedelta(seconds=2)
_PART_FAILED = "part-failed"
_ANOTHER_FAILED = StopRequest(reason="another item failed")


@workflow.defn(name=FAN_OUT)
class FanOutWorkflow:
    """Workflow type `FanOut`, begun by `Pipeline` alone. Its result, or its failure's details, is an `ItemsEnding`."""

    @workflow.init
    @raw
    def __init__(self, *arguments: RawValue) -> None:
        self._stop: StopRequest | None = None
        self._stopping = False
        self._news = False
        try:
            (only,) = arguments
            self._begin_with(FanOutInput.model_validate_json(only.payload.data))
            self._is_ours = True
        except Exception:
            self._is_ours = False

    def _begin_with(self, given: FanOutInput) -> None:
        self._given = given
        self._stop = given.stopped
        self._children = Children(given.max_parallel, renewed=given.parts <= 1)
        self._marks = [Mark.WAITING] * len(given.items)
        self._results: list[Any] | None = [None] * len(given.items)
        self._size = 2
        self._first_error = given.first_error
        self._running: dict[int, None] = {}
        self._digest = given.digest()
        self._first_index, self._step = 0, 1
        if given.slice is not None:
            self._first_index, self._step = given.slice.start, given.slice.step
        #: Whether a part ended without saying what it has done.
        self._lost = False
        self._since = workflow.info().start_time
        self._look_up = given.look_up
        self._counted: Counter[Mark] = Counter()
        if given.done is not None:
            self._recall(given.done)
        self._next = 0
        self._parts: dict[str, None] = {}
        self._published = ItemCounts()
        self._published_at: datetime | None = None
        self._will_publish = False
        self._tasks: set[asyncio.Task[None]] = set()

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> dict[str, Any]:
        if not self._is_ours:
            message = "a job for each item of a list is part of a pipeline: start workflow type `Pipeline`"
            raise ApplicationError(message, type=ErrorType.INVALID_PIPELINE, non_retryable=True)
        over = False
        while not over:
            try:
                await self._live()
                over = True
            except asyncio.CancelledError:
                self._stop_all(self._stop or StopRequest(reason=workflow.cancellation_reason() or None))
        return self._end()

    async def _live(self) -> None:
        if self._given.resume is not None and self._given.done is None and not self._counted:
            await self._resume(self._given.resume)
        if self._given.done is None:
            told = ItemsEnding(digest=self._digest, since=self._since).compact()
            workflow.upsert_memo({ITEMS_OF: told})
        if self._given.parts > 1:
            await self._live_in_parts()
        else:
            await self._live_by_items()
        self._publish_now()

    async def _live_by_items(self) -> None:
        while True:
            self._news = False
            self._begin()
            self._publish()
            if not self._running and (self._stopping or self._is_through()):
                return
            if self._may_start_over():
                self._start_over()
            await workflow.wait_condition(lambda: self._news or self._may_start_over())

    def _may_start_over(self) -> bool:
        """Never while it stops: the next run would not know."""
        return not self._stopping and self._children.may_start_over(len(self._running))

    def _begin(self) -> None:
        if self._stopping:
            return
        room = self._children.room(len(self._running))
        while room > 0 and not self._is_through():
            index = self._next
            self._next += 1
            self._running[index] = None
            self._in_background(self._run_item(index))
            room -= 1

    def _is_through(self) -> bool:
        """Whether no item is left to begin; steps over those that are done already."""
        while self._next < len(self._marks) and self._marks[self._next] is not Mark.WAITING:
            self._next += 1
        return self._next == len(self._marks)

    def _start_over(self) -> NoReturn:
        given = self._given.model_copy(
            update={
                "done": self._ending(),
                "look_up": self._look_up,
                "stopped": self._stop,
                "first_error": self._first_error,
            }
        )
        workflow.continue_as_new(args=[given.compact()], memo=whole_memo())

    async def _resume(self, run_id: str) -> None:
        """Takes over what an ended run of this job has done, if it was about the same list."""
        told = await workflow.execute_activity(
            ITEMS_ENDING,
            args=[workflow.info().workflow_id, run_id],
            result_type=dict[str, Any],
            start_to_close_timeout=timedelta(minutes=1),
            summary="items that are done already",
        )
        try:
            done = ItemsEnding.model_validate(told)
        except ValidationError:
            return
        if done.digest != self._digest:
            return
        self._since = done.since or self._since
        if len(done.marks) != len(self._marks):
            self._look_up = True  # it was terminated
            return
        kept = [Mark.SUCCEEDED if letter == Mark.SUCCEEDED else Mark.WAITING for letter in done.marks]
        self._recall(done.model_copy(update={"marks": "".join(kept)}))

    def _recall(self, done: ItemsEnding) -> None:
        if len(done.marks) != len(self._marks):
            raise ValueError("what is done is not of these items")
        self._marks = [Mark(letter) for letter in done.marks]
        self._counted = Counter(mark for mark in self._marks if mark is not Mark.WAITING)
        self._results, self._size = done.results, done.size
        self._since = done.since or self._since

    # -- its parts ------------------------------------------------------------------------------------------

    async def _live_in_parts(self) -> None:
        if not self._parts and not self._stopping:
            self._parts = {part.id: None for part in self._begin_parts()}
            self._publish_now()
        while self._parts:
            self._news = False
            await workflow.wait_condition(lambda: self._news)

    def _begin_parts(self) -> list[Planned]:
        workflow_id = workflow.info().workflow_id
        parts = plan_parts(self._given, workflow_id, self._ending(), self._look_up)
        self._size = 2  # each part goes on with that of its own results
        for start, part in enumerate(parts):
            self._in_background(self._run_part(start, part))
        return parts

    async def _run_part(self, start: int, part: Planned) -> None:
        try:
            ended = await self._children.run(part)
        except Exception as fault:
            ended = _broken(fault)
        del self._parts[part.id]
        self._take_in(slice(start, None, self._given.parts), ended)
        self._news = True

    def _take_in(self, mine: slice, ended: Ended) -> None:
        """What a part has done."""
        try:
            told = ItemsEnding.model_validate(ended.left)
            marks = [Mark(letter) for letter in told.marks]
        except ValueError:
            told, marks = ItemsEnding(), []
        if len(marks) != len(self._marks[mine]):  # somebody terminated it
            self._lost = True
            marks = [mark if mark is Mark.SUCCEEDED else Mark.CANCELLED for mark in self._marks[mine]]
            told = ItemsEnding(results=[None] * len(marks))
            if ended.error is not None and not self._stopping:
                self._first_error = (
                    self._first_error or f"a part of the items was ended: {ended.error.message}"
                )
        self._marks[mine] = marks
        self._counted = Counter(mark for mark in self._marks if mark is not Mark.WAITING)
        self._size += told.size - 2
        if told.results is None or self._size > limits.ITEM_RESULTS_BYTES:
            self._results = None
        elif self._results is not None:
            self._results[mine] = told.results
        self._first_error = self._first_error or told.first_error
        if self._given.stop and ended.mark is not Mark.SUCCEEDED and not self._stopping:
            self._stop_all(_ANOTHER_FAILED)  # a part that was terminated did not say so itself

    @workflow.signal(name=_PART_FAILED)
    @forgiving
    def part_failed(self) -> None:
        """An item of a part failed, and that ends the others."""
        self._stop_all(_ANOTHER_FAILED)

    # -- one item -------------------------------------------------------------------------------------------

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the loop by itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)

    async def _run_item(self, index: int) -> None:
        try:
            done = await self._done_before(index) if self._look_up else None
            ended = done or await self._children.run(self._plan(index))
        except Unfit as fault:
            ended = Ended(Mark.FAILED, {}, fault.error)
        except Exception as fault:
            ended = _broken(fault)
        # Not in a `finally`: a worker that has no more room for this workflow cancels what it waits for, and then
        # nothing has ended.
        self._take_down(index, ended)

    async def _done_before(self, index: int) -> Ended | None:
        """How an item ended that succeeded in a run of this job that was terminated."""
        child_id = self._id(index)
        earlier = await last_run(child_id)
        if not earlier.get("succeeded_in") or parse_instant(earlier["started_at"]) < self._since:
            return None
        (answer,) = await read_results([{"id": child_id, "name": child_id, "path": []}])
        return Ended(Mark.SUCCEEDED, {"result": answer["value"]}) if "value" in answer else None

    def _plan(self, index: int) -> Planned:
        given = self._given
        try:
            payload = put_item(given.job.payload, given.items[index], given.values)
        except BadReference as error:
            raise bad_reference(error) from None
        return plan_job(given.job, payload, self._id(index), given.origin, workflow.now())

    def _id(self, index: int) -> str:
        of = self._given.slice.of if self._given.slice else workflow.info().workflow_id
        return f"{of}~{self._place(index)}"

    def _place(self, index: int) -> int:
        """In the list of the job."""
        return self._first_index + index * self._step

    def _take_down(self, index: int, ended: Ended) -> None:
        del self._running[index]
        self._marks[index] = ended.mark
        self._counted[ended.mark] += 1
        self._news = True
        if ended.mark is Mark.SUCCEEDED:
            self._keep(index, ended.left.get("result"))
            return
        told_to = self._stopping and ended.mark is Mark.CANCELLED
        if self._first_error is None and ended.error is not None and not told_to:
            self._first_error = f"item {self._place(index)}: {ended.error.type}: {ended.error.message}"
        if self._given.stop:
            if self._given.slice is not None and not self._stopping:
                self._in_background(self._tell_of_failure(self._given.slice.of))
            self._stop_all(_ANOTHER_FAILED)

    def _keep(self, index: int, result: Any) -> None:
        """Keeps a result, as long as all of them together are not too large."""
        self._size += listed_bytes(result)
        if self._size > limits.ITEM_RESULTS_BYTES:
            self._results = None
        if self._results is not None:
            self._results[index] = result

    @staticmethod
    async def _tell_of_failure(parent_id: str) -> None:
        with contextlib.suppress(TemporalError):  # it has ended
            await workflow.get_external_workflow_handle(parent_id).signal(_PART_FAILED)

    # -- what ends it early ---------------------------------------------------------------------------------

    @workflow.signal(name="stop")
    @forgiving
    def stop(self, request: dict[str, Any]) -> None:
        """How a cancellation that follows is to be carried out."""
        self._stop = StopRequest.model_validate(request)

    def _stop_all(self, request: StopRequest) -> None:
        self._stopping = True
        for child_id in [*map(self._id, self._running), *self._parts]:
            self._children.stop(child_id, request)
        self._news = True

    # -- what people see ------------------------------------------------------------------------------------

    def _counts(self) -> ItemCounts:
        return ItemCounts(
            total=len(self._marks),
            running=len(self._running),
            succeeded=self._counted[Mark.SUCCEEDED],
            failed=self._counted[Mark.FAILED],
            cancelled=self._counted[Mark.CANCELLED],
            expired=self._counted[Mark.EXPIRED],
            parts=len(self._parts) and self._given.parts,
        )

    def _publish(self) -> None:
        """The counts, now or soon: one entry for all that comes at about the same time."""
        last = self._published_at
        if not self._given.parts or last is None or workflow.now() - last >= _LAG:
            self._publish_now()
        elif not self._will_publish:
            self._will_publish = True
            self._in_background(self._publish_later(last + _LAG))

    async def _publish_later(self, at: datetime) -> None:
        await asyncio.sleep(max(at - workflow.now(), timedelta(0)).total_seconds())
        self._will_publish = False
        self._publish_now()

    def _publish_now(self) -> None:
        counts = self._counts()
        if counts != self._published:
            workflow.upsert_memo({ITEMS: counts.compact()})
            self._published, self._published_at = counts, workflow.now()

    def _ending(self) -> ItemsEnding:
        return ItemsEnding(
            counts=self._counts(),
            results=self._results,
            size=self._size,
            marks="" if self._lost else "".join(self._marks),
            digest=self._digest,
            since=self._since,
            first_error=self._first_error if self._given.slice else None,
        )

    def _end(self) -> dict[str, Any]:
        counts, ending = self._counts(), self._ending().compact()
        if counts.succeeded == counts.total:
            return ending
        if self._stopping and self._first_error is None:
            workflow.upsert_search_attributes([attributes.OUTCOME.value_set(State.CANCELLED)])
            reason = (self._stop.reason if self._stop else None) or "cancelled"
            message = cut(sendable(reason), limits.ERROR_MESSAGE_LENGTH)
            raise ApplicationError(message, ending, type=ErrorType.CANCELLED, non_retryable=True)
        message = (
            f"{counts.bad:,} of {counts.total:,} items did not succeed; {self._first_error or 'cancelled'}"
        )
        message = cut(message, limits.ERROR_MESSAGE_LENGTH)
        raise ApplicationError(message, ending, type=ErrorType.ITEMS_FAILED, non_retryable=True)


def _broken(fault: Exception) -> Ended:
    """A fault that nobody foresaw, in place of an ending."""
    workflow.logger.error("an item or a part came to no ending", exc_info=fault)
    message = cut(sendable(str(fault)), limits.BRIEF_MESSAGE_LENGTH)
    return Ended(Mark.FAILED, {}, Error(type=type(fault).__name__, message=message))
