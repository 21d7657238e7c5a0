"""The workflow of a pipeline: begins each job when its turn has come, as a child, until all have ended.

`duetime.graph` says what is next; this carries it out. Where the pipeline stands is in its memo at every moment, for
those who read it while no worker lives.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import Any, NoReturn

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from duetime import attributes
    from duetime.contracts import limits
    from duetime.contracts.carry import StopRequest
    from duetime.contracts.duration import format_duration
    from duetime.contracts.json_value import sendable
    from duetime.contracts.pipeline import PIPELINE, job_id
    from duetime.contracts.pipeline_state import (
        FAULTS,
        FINAL_MARKS,
        PROGRESS,
        STATE_OF,
        Halt,
        Mark,
        PipelineEnding,
        Progress,
    )
    from duetime.contracts.record import Error, cut
    from duetime.contracts.requests import CancelRequest
    from duetime.contracts.states import ErrorType, State
    from duetime.graph import Graph
    from workflows.children import Children, Ended, Planned, last_run
    from workflows.commands import command
    from workflows.fan_out_input import plan_fan_out
    from workflows.memo import whole_memo
    from workflows.pipeline_end import failure_of, in_words
    from workflows.pipeline_input import bad_pipeline, origin_of, read_pipeline_input
    from workflows.planning import Unfit, plan_job, unfit
    from workflows.raw import raw
    from workflows.values import Values

#: What handlers get to clean up when the pipeline ends their job by itself.
_GRACE = timedelta(seconds=30)


@workflow.defn(name=PIPELINE)
class PipelineWorkflow:
    """Workflow type `Pipeline`: `PipelineSpec` as JSON is its one argument, `PipelineEnding` its result."""

    @workflow.init
    @raw
    def __init__(self, *arguments: RawValue) -> None:
        self._error: Exception | None = None
        try:
            self._begin_with(arguments)
        except Exception as error:
            self._error = error

    def _begin_with(self, arguments: Sequence[RawValue]) -> None:
        info = workflow.info()
        self._spec, self._carry = read_pipeline_input(arguments, info)
        self._origin = origin_of(self._carry, info)
        marks = Progress(marks=self._carry.marks).by_name(list(self._spec.jobs))
        self._earlier = {name: mark for name, mark in marks.items() if mark in FINAL_MARKS}
        self._graph = Graph(self._spec, self._earlier, self._carry.halt)
        self._children = Children(self._spec.max_parallel)
        self._values = Values(self._spec, self._graph, info.workflow_id, self._children.room_for)
        self._faults = dict(self._carry.faults)
        self._reason = self._carry.reason
        self._grace = _GRACE
        delay = self._carry.delay or timedelta(0)
        self._starts_at = info.start_time + delay if delay else None
        self._ends_at = self._carry.deadline_at
        if self._ends_at is None and self._spec.deadline is not None:
            self._ends_at = info.start_time + delay + self._spec.deadline
        self._published = Progress()
        self._published_faults = len(self._faults)
        self._cancelled = False
        self._ending = False
        self._news = False
        self._tasks: set[asyncio.Task[None]] = set()

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> dict[str, Any]:
        if self._error is not None:
            raise bad_pipeline(self._error)
        if self._ends_at is not None and self._graph.halt in (None, Halt.FAILURE):
            self._in_background(self._expire(self._ends_at - workflow.now()))
        if self._starts_at is not None:
            self._in_background(self._hold(self._starts_at - workflow.now()))
        while not self._graph.is_over:
            try:
                await self._live()
            except asyncio.CancelledError:
                self._cancelled = True
                self._halt(Halt.CANCELLED, workflow.cancellation_reason())
        return await self._end()

    async def _live(self) -> None:
        while not self._graph.is_over:
            self._news = False
            room = self._children.room(len(self._graph.running)) if self._starts_at is None else 0
            for name in self._graph.begin(room):
                self._in_background(self._run_job(name))
            for name in self._graph.to_cancel():
                self._children.stop(self._id(name), StopRequest(grace=self._grace, reason=self._why()))
            self._publish()
            if self._may_start_over():
                await self._start_over()
            await workflow.wait_condition(lambda: self._news or self._may_start_over())

    def _may_start_over(self) -> bool:
        """Whether it takes a fresh history to go on, and no job is under way."""
        return not self._graph.is_over and self._children.may_start_over(len(self._graph.running))

    async def _start_over(self) -> NoReturn:
        """A fresh history, at a moment when no job is under way. Results are read from the executions then."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        carry = self._carry.model_copy(
            update={
                "marks": self._graph.letters,
                "halt": self._graph.halt,
                "reason": self._reason,
                "deadline_at": self._ends_at,
                "delay": max(self._starts_at - workflow.now(), timedelta(0)) if self._starts_at else None,
                "faults": self._faults,
                "origin": self._origin,
            }
        )
        workflow.continue_as_new(args=[self._spec.compact(), carry.compact()], memo=whole_memo())

    async def _end(self) -> dict[str, Any]:
        self._ending = True
        self._publish()
        await workflow.wait_condition(workflow.all_handlers_finished)
        state, ending = self._graph.state(), self._told().compact()
        if state is State.SUCCEEDED:
            return ending
        if state in (State.CANCELLED, State.EXPIRED):
            workflow.upsert_search_attributes([attributes.OUTCOME.value_set(state)])
        if state is State.CANCELLED and self._cancelled:
            raise asyncio.CancelledError
        raise failure_of(state, self._graph.marks, ending, self._reason)

    def _told(self) -> PipelineEnding:
        return PipelineEnding(jobs=in_words(self._graph.marks))

    # -- one job --------------------------------------------------------------------------------------------

    async def _run_job(self, name: str) -> None:
        mark = Mark.FAILED
        try:
            earlier = await last_run(self._id(name)) if self._carry.retried else {}
            if self._was_done(name, earlier):
                ended = Ended(Mark.SUCCEEDED, {})
            else:
                ended = await self._children.run(await self._plan(name, earlier))
                self._values.learn(name, ended)
            mark = ended.mark
            if ended.error is not None and ended.error.type == ErrorType.ID_IN_USE:
                self._take_down(name, ended.error)
        except Unfit as fault:
            self._take_down(name, fault.error)
        except ActivityError as error:
            message = f"the results that it refers to were not read: {error}"
            self._take_down(name, unfit(ErrorType.INVALID_REFERENCE, message).error)
        before = self._graph.halt
        self._graph.end(name, mark)
        if self._graph.halt is not before:
            self._reason = f"the job {name!r} {STATE_OF[mark]}"
        self._values.settle()
        self._news = True

    def _take_down(self, name: str, error: Error) -> None:
        """The error of a job that came to no execution of its own."""
        if len(self._faults) < limits.PIPELINE_FAULTS:
            self._faults[name] = error

    def _was_done(self, name: str, earlier: dict[str, Any]) -> bool:
        """Whether the job succeeded after all in a run of the pipeline that was ended before it heard of that."""
        run_id = earlier.get("succeeded_in")
        return name in self._carry.begun and run_id is not None and run_id == self._carry.ended_run_id

    async def _plan(self, name: str, earlier: dict[str, Any]) -> Planned:
        job, child_id = self._spec.jobs[name], self._id(name)
        values = await self._values.of(name)
        if job.for_each is not None:
            parallel = job.max_parallel or self._spec.max_parallel
            stop = self._spec.on_failure
            return plan_fan_out(job, values, child_id, self._origin, parallel, stop, earlier.get("run_id"))
        payload = values.put_into(job.payload)
        return plan_job(job, payload, child_id, self._origin, workflow.now(), earlier.get("token", 0))

    def _id(self, name: str) -> str:
        return job_id(workflow.info().workflow_id, name)

    # -- its time, and what ends it early -------------------------------------------------------------------

    async def _hold(self, left: timedelta) -> None:
        if left > timedelta(0):
            await asyncio.sleep(left.total_seconds())
        self._starts_at = None
        self._news = True

    async def _expire(self, left: timedelta) -> None:
        if left > timedelta(0):
            await asyncio.sleep(left.total_seconds())
        span = self._spec.deadline
        self._halt(
            Halt.DEADLINE, f"the pipeline was not finished within {format_duration(span)}" if span else None
        )

    def _halt(self, halt: Halt, reason: str | None) -> None:
        before = self._graph.halt
        self._graph.stop(halt)
        self._starts_at = None  # what reacts to this, cleaning up, does not wait
        if self._graph.halt is not before:
            self._reason = cut(sendable(reason), limits.PIPELINE_FAULT_LENGTH) if reason else None
        self._values.settle()
        self._news = True

    def _why(self) -> str:
        return self._reason or "the pipeline was cancelled"

    def _can_cancel(self, _: CancelRequest) -> None:
        if self._error is not None or self._ending or self._graph.is_over:
            raise ApplicationError("the pipeline has ended", type="TooLate", non_retryable=True)

    @command("cancel", CancelRequest, check=_can_cancel, policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    def cancel(self, wanted: CancelRequest) -> None:
        """Ends the pipeline: `mode`, `grace` and `reason` as for a job. `graceful` lets what `always` runs clean up.

        Whoever calls this may cancel the execution afterwards, so that it is shown as cancelled.
        """
        force = wanted.mode == "force"
        self._grace = timedelta(0) if force else wanted.grace
        self._halt(Halt.FORCED if force else Halt.CANCELLED, wanted.reason)

    # -- what people see ------------------------------------------------------------------------------------

    def _publish(self) -> None:
        progress = Progress(
            marks=self._graph.letters,
            halt=self._graph.halt,
            reason=self._reason,
            deadline_at=self._ends_at,
            starts_at=self._starts_at,
            nominal_time=self._origin.nominal_time,
            schedule_id=self._origin.schedule_id,
        )
        told: dict[str, Any] = {}
        if progress != self._published:
            told[PROGRESS] = progress.compact()
        if len(self._faults) != self._published_faults:
            told[FAULTS] = {
                name: error.model_dump(mode="json", exclude_defaults=True)
                for name, error in self._faults.items()
            }
        if told:
            workflow.upsert_memo(told)
            self._published, self._published_faults = progress, len(self._faults)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the loop by itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)
