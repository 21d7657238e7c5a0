"""The workflow of one job of a pipeline that runs once for each item of a list, each item a child of its own.

It has a history of its own, so that a long list is no burden for the pipeline. When that has grown too much it begins a
fresh one, at a moment when no item is under way.
"""

import asyncio
import hashlib
import json
from collections import Counter
from datetime import timedelta
from typing import Any, Literal, NoReturn

from pydantic import Field, ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.endings import ITEMS_ENDING
    from duetime import attributes
    from duetime.contracts import limits
    from duetime.contracts.carry import StopRequest
    from duetime.contracts.instants import parse_instant
    from duetime.contracts.json_value import check_json
    from duetime.contracts.pipeline import FAN_OUT, OnFailure, PipelineJob
    from duetime.contracts.pipeline_state import ITEMS, ITEMS_OF, ItemCounts, ItemsEnding, Mark
    from duetime.contracts.record import Part, cut
    from duetime.contracts.references import BadReference
    from duetime.contracts.states import ErrorType, State
    from workflows.children import Children, Ended, Planned, last_run
    from workflows.forgiving import forgiving
    from workflows.pipeline_input import Origin
    from workflows.planning import Unfit, bad_reference, checked_items, checked_values, plan_job
    from workflows.raw import raw
    from workflows.room import ITEMS_RETURN
    from workflows.values import Found, put_item, read_results


class FanOutInput(Part):
    """The one argument of workflow type `FanOut`: from the pipeline, and from an earlier run of itself."""

    protocol: Literal[1] = Field(1, alias="$duetime")
    #: The job; its payload still has the references.
    job: PipelineJob
    items: list[Any] = Field(max_length=limits.ITEMS)
    #: What the references to results came to, by their text.
    values: dict[str, Any] = Field(default_factory=dict)
    max_parallel: int
    #: Whether one failed item ends the others.
    stop: bool = False
    origin: Origin
    #: An ended run of this job, whose results are kept.
    resume: str | None = None
    #: From an earlier run of itself.
    done: ItemsEnding | None = None
    #: Whether items may be done without anybody having taken that down.
    look_up: bool = False
    stopped: StopRequest | None = None
    first_error: str | None = None

    def compact(self) -> dict[str, Any]:
        told = self.model_dump(mode="json", exclude_defaults=True, exclude={"protocol", "done"})
        told |= {"done": self.done.compact()} if self.done else {}
        return {"$duetime": 1} | told


def plan_fan_out(
    job: PipelineJob,
    found: Found,
    child_id: str,
    origin: Origin,
    parallel: int,
    on_failure: OnFailure,
    resume: str | None,
) -> Planned:
    """The child for a job that runs for each item; `Unfit` when its list is none, or too long."""
    items = checked_items(found.put_into(job.for_each))
    values = checked_values(found.needed_by(job.payload))
    alone = job.model_copy(update={"for_each": None, "max_parallel": None, "needs": []})
    given = FanOutInput.model_construct(
        job=alone,
        items=items,
        values=values,
        max_parallel=parallel,
        stop=on_failure is OnFailure.STOP,
        origin=origin,
        resume=resume,
    )
    spec = job.job({})
    told = origin.attributes_of(spec, workflow.now())
    summary = f"{job.kind}, {len(items):,} items"
    return Planned(FAN_OUT, child_id, [given.compact()], told, job.priority, summary, ITEMS_RETURN)


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
            self._given = FanOutInput.model_validate_json(arguments[0].payload.data)
        except Exception:
            self._is_ours = False
            return
        self._is_ours = True
        given = self._given
        self._stop = given.stopped
        self._children = Children(given.max_parallel)
        self._marks = [Mark.WAITING] * len(given.items)
        self._results: list[Any] | None = [None] * len(given.items)
        self._size = 2
        self._first_error = given.first_error
        self._running: dict[int, None] = {}
        self._digest = _digest(given)
        self._since = workflow.info().start_time
        self._look_up = given.look_up
        self._counted: Counter[Mark] = Counter()
        if given.done is not None:
            self._recall(given.done)
        self._next = 0
        self._published = ItemCounts()
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
        while True:
            self._news = False
            self._begin()
            self._publish()
            if not self._running and (self._stopping or self._is_through()):
                return
            if self._children.may_start_over(len(self._running)):
                self._start_over()
            await workflow.wait_condition(
                lambda: self._news or self._children.may_start_over(len(self._running))
            )

    def _begin(self) -> None:
        if self._stopping:
            return
        room = self._children.room(len(self._running))
        while room > 0 and not self._is_through():
            index = self._next
            self._next += 1
            self._running[index] = None
            self._in_background(index)
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
        workflow.continue_as_new(args=[given.compact()], memo=dict(workflow.memo()))

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
        self._marks = [Mark(letter) for letter in done.marks]
        self._counted = Counter(mark for mark in self._marks if mark is not Mark.WAITING)
        self._results, self._size = done.results, done.size
        self._since = done.since or self._since

    # -- one item -------------------------------------------------------------------------------------------

    def _in_background(self, index: int) -> None:
        task = asyncio.create_task(self._run_item(index))
        self._tasks.add(task)  # the loop by itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)

    async def _run_item(self, index: int) -> None:
        ended = Ended(Mark.FAILED, {})
        try:
            done = await self._done_before(index) if self._look_up else None
            ended = done or await self._children.run(self._plan(index))
        except Unfit as fault:
            ended = Ended(Mark.FAILED, {}, fault.error)
        finally:
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

    @staticmethod
    def _id(index: int) -> str:
        return f"{workflow.info().workflow_id}~{index}"

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
            self._first_error = f"item {index}: {ended.error.type}: {ended.error.message}"
        if self._given.stop:
            self._stop_all(StopRequest(reason="another item failed"))

    def _keep(self, index: int, result: Any) -> None:
        """Keeps a result, as long as all of them together are not too large."""
        self._size += check_json(result, limits.RESULT_BYTES * 2) + 1
        if self._size > limits.ITEM_RESULTS_BYTES:
            self._results = None
        if self._results is not None:
            self._results[index] = result

    # -- what ends it early ---------------------------------------------------------------------------------

    @workflow.signal(name="stop")
    @forgiving
    def stop(self, request: dict[str, Any]) -> None:
        """How a cancellation that follows is to be carried out."""
        self._stop = StopRequest.model_validate(request)

    def _stop_all(self, request: StopRequest) -> None:
        self._stopping = True
        for index in self._running:
            self._children.stop(self._id(index), request)
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
        )

    def _publish(self) -> None:
        counts = self._counts()
        if counts != self._published:
            workflow.upsert_memo({ITEMS: counts.compact()})
            self._published = counts

    def _ending(self) -> ItemsEnding:
        return ItemsEnding(
            counts=self._counts(),
            results=self._results,
            size=self._size,
            marks="".join(self._marks),
            digest=self._digest,
            since=self._since,
        )

    def _end(self) -> dict[str, Any]:
        counts, ending = self._counts(), self._ending().compact()
        if counts.succeeded == counts.total:
            return ending
        if self._stopping and self._first_error is None:
            workflow.upsert_search_attributes([attributes.OUTCOME.value_set(State.CANCELLED)])
            message = (self._stop.reason if self._stop else None) or "cancelled"
            raise ApplicationError(message, ending, type=ErrorType.CANCELLED, non_retryable=True)
        bad = counts.failed + counts.cancelled + counts.expired
        message = f"{bad:,} of {counts.total:,} items did not succeed; {self._first_error or 'cancelled'}"
        message = cut(message, limits.ERROR_MESSAGE_LENGTH)
        raise ApplicationError(message, ending, type=ErrorType.ITEMS_FAILED, non_retryable=True)


def _digest(given: FanOutInput) -> str:
    told = json.dumps([given.origin.run_id, given.items, given.job.payload, given.values], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]
