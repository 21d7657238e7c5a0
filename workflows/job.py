"""The workflow of one job: wait until it is due, have it attempted, end with its result or a typed failure.

The happy path is one activity and nothing else. What the server cannot decide by itself (a lost lease, an
interruption, a snooze, a timeout) comes back here; `decisions` says what is next. While this is off the straight path,
a `View` in the memo tells where the job stands.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NoReturn, assert_never

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.last_record import LAST_RECORD
    from duetime import attributes
    from duetime.contracts import limits
    from duetime.contracts.record import Ending, Error, Record, cut, fitting
    from duetime.contracts.states import ErrorType, State
    from duetime.decisions import (
        Again,
        Cancelled,
        Fail,
        How,
        Situation,
        Step,
        Succeed,
        abandoned,
        after_bad_result,
        after_end,
        after_return,
    )
    from duetime.predecessors import Predecessors
    from workflows.dispatch import dispatch
    from workflows.memo import whole_memo
    from workflows.meters import count_attempt, count_end
    from workflows.order import start_check
    from workflows.phase import DeadlineExceeded, Phase
    from workflows.queue_wait import QueueWait
    from workflows.reading import bad_job, read_end, read_job, read_result
    from workflows.standing import Standing
    from workflows.start_delay import asked_due_time, held_back
    from workflows.taking import Taken, Taking

#: What a handler gets to clean up when the deadline ends its job.
_DEADLINE_GRACE = timedelta(seconds=10)
#: What the server may take to say how an activity stands that is about to be cancelled.
_ASKING = timedelta(seconds=10)


@workflow.defn(dynamic=True)
class JobWorkflow(Standing):
    """Workflow type `Job`. Registered as the queue's dynamic workflow, which is the one kind that the SDK hands its
    arguments as they came: whatever somebody starts here fails readably, and no workflow task can loop on it."""

    @workflow.init
    def __init__(self, arguments: Sequence[RawValue]) -> None:
        super().__init__()
        self._handle: workflow.ActivityHandle[RawValue] | None = None
        self._seen = Record()
        #: Decided here, and not by the name of an error: a handler may use any.
        self._expired = False
        try:
            self._spec, self._carry = read_job(arguments, workflow.info())
            accepted_at = workflow.info().workflow_start_time + held_back(self._spec, self._carry)
            self._due_at = self._carry.due_at or self._spec.due_at(workflow.info().workflow_id, accepted_at)
        except Exception as error:
            self._error = error
            return
        self._record = self._carry.record
        self._priority = self._carry.priority or self._spec.priority
        self._ready_at = self._carry.ready_at
        self._queue_wait = QueueWait(self._spec.queue_timeout, self._carry.queued_since)
        self._taking = Taking(self._spec, self._carry)
        self._predecessors = Predecessors([] if self._carry.ordered else self._spec.after)
        for dependent in self._carry.dependents:
            self._dependents.add(dependent)

    @workflow.run
    async def run(self, arguments: Sequence[RawValue]) -> dict[str, Any]:
        try:
            ending = await self._to_its_end()
        except asyncio.CancelledError:
            await self._say_end(State.CANCELLED)
            raise
        except ApplicationError:
            await self._say_end(State.EXPIRED if self._expired else State.FAILED)
            raise
        await self._say_end(State.SUCCEEDED)
        return ending

    async def _say_end(self, state: State) -> None:
        if self._error is None:
            await self._taking.leave()
            count_end(self._spec.kind, self._spec.queue, state)
        await self._dependents.tell(state)

    async def _to_its_end(self) -> dict[str, Any]:
        if self._error is not None:
            raise bad_job(self._error)
        try:
            await self._introduce()
            return await self._live()
        except asyncio.CancelledError:
            return await self._end_cancelled()
        except DeadlineExceeded:
            return await self._end_expired()

    async def _live(self) -> dict[str, Any]:
        await self._until_ordered()
        while True:
            if workflow.info().is_continue_as_new_suggested():
                await self._start_over()
            await self._until_due()
            ending = await self._attempt()
            if ending is not None:
                return ending

    async def _start_over(self) -> NoReturn:
        """A fresh history for a job that comes back for ever (no handler, snoozes)."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        carry = self._carry.model_copy(
            update={
                "due_at": self._due_at,
                "priority": self._priority,
                "record": self._record,
                "ordered": True,
                "ready_at": self._ready_at,
                "dependents": self._dependents.ids,
                "queued_since": self._queue_wait.as_one(),
            }
        )
        # Where the job stands goes along, and who waits for it.
        workflow.continue_as_new(args=[self._spec.compact(), carry.compact()], memo=whole_memo())

    # -- waiting ------------------------------------------------------------------------------------------

    async def _until_ordered(self) -> None:
        """Until the jobs named in `after` have succeeded; this one fails when one of them does not."""
        known = self._predecessors
        if known.remaining:
            check = start_check(known.remaining)
            await self._wait(lambda: check.done() or known.settled, None)
            if check.done():
                told = await check
                known.learn(told["states"], told.get("unknown", ()))
            else:
                check.cancel()
        if fault := known.fault():
            raise self._failed(fault)
        if self._spec.after and not self._carry.ordered and workflow.patched("ready-at"):
            self._ready_at = workflow.now()
            self._publish()

    async def _until_due(self) -> None:
        self._phase = Phase.WAITING_FOR_DUE
        while (left := self._due_at - workflow.now()) > timedelta(0):
            self._queue_wait.anew()
            await self._unless_moved(lambda: False, left)

    async def _back_off(self, step: Again) -> None:
        self._phase, self._hurry = Phase.BACKING_OFF, False
        self._taking.lose_turn()
        self._publish(next_attempt_at=workflow.now() + step.delay, reason=step.reason)
        if step.delay > timedelta(0):
            await self._wait(lambda: self._hurry, step.delay)

    async def _wait(self, condition: Callable[[], bool], span: timedelta | None) -> None:
        """Until `condition` or for `span`; the job's deadline cuts it short. `None` waits for ever."""
        end = None if span is None else workflow.now() + span
        while not condition():
            timeout = self._until_deadline()
            if end is not None:
                left = end - workflow.now()
                timeout = left if timeout is None else min(left, timeout)
                if left <= timedelta(0):
                    return
            await self._unless_moved(condition, timeout)

    async def _unless_moved(self, condition: Callable[[], bool], longest: timedelta | None) -> None:
        """Until `condition`, for `longest`, or until the job is moved, which moves its deadline too."""
        due = self._due_at
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(lambda: condition() or self._due_at != due, timeout=longest)

    def _until_deadline(self) -> timedelta | None:
        """What is left until the job's deadline, if it has one; raises when that is over."""
        if self._spec.deadline is None:
            return None
        left = self._due_at + self._spec.deadline - workflow.now()
        if left <= timedelta(0):
            raise DeadlineExceeded
        return left

    # -- as `workflows.taking` needs it ---------------------------------------------------------------------

    @property
    def moved(self) -> bool:
        return self._moved

    @property
    def current_priority(self) -> int:
        return self._priority

    async def wait(self, condition: Callable[[], bool], span: timedelta | None) -> None:
        await self._wait(condition, span)

    def say_waiting(self) -> None:
        self._publish()

    # -- attempts -----------------------------------------------------------------------------------------

    async def _attempt(self) -> dict[str, Any] | None:
        """Has the job attempted; its ending, or `None` when there is more to do."""
        self._until_deadline()
        self._phase, self._seen = Phase.WAITING_FOR_PLACE, Record()
        begun = self._queue_wait.since or workflow.now()
        taken = await self._taking.take(self, self._queue_wait.left(begun))
        if taken is Taken.FRESH_HISTORY:  # It keeps its place in the line, and its wait goes on.
            self._queue_wait.since = begun
            return None
        if taken is not Taken.ALL:
            await self._without_place(taken)
            return None
        self._phase = Phase.DISPATCHED
        self._carry.dispatches += 1
        waits = self._queue_wait.enter(workflow.now() - begun)
        once = self._taking.concern
        handle = dispatch(self._spec, self._carry, self._record, self._due_at, self._priority, waits, once)
        self._handle = handle
        await self._wait(lambda: handle.done() or self._moved, None)
        if not handle.done():
            await self._withdraw(handle)
            await self._wait(handle.done, None)
        moved, self._moved = self._moved, False
        step = await self._conclude(handle)
        if await self._taking.leave() and not isinstance(step, Succeed):
            raise asyncio.CancelledError
        match step:
            case Succeed():
                self._phase = Phase.ENDING
                return self._ending(step.result)
            case Fail() if await self._queue_wait.goes_on(self._spec.queue, self._wait):
                self._moved = False
            case Fail():
                raise self._failed(step.error)
            case Cancelled() if moved:
                self._publish()
            case Cancelled():
                raise asyncio.CancelledError
            case Again():
                self._carry.unhandled = self._carry.unhandled + 1 if step.given_back else 0
                await self._back_off(await self._in_time(step, begun))
            case _:
                assert_never(step)
        return None

    async def _in_time(self, step: Again, begun: datetime) -> Again:
        """`step` no later than what is left of the wait that began then, when a worker gave the job back."""
        left = self._queue_wait.left_since(begun) if step.given_back else None
        if left is None:
            return step
        if left or await self._queue_wait.goes_on(self._spec.queue, self._wait):
            self._moved = False
            return replace(step, delay=min(step.delay, left))
        message = (
            f"no worker that has a handler for {self._spec.kind!r} took the job within its queue_timeout"
        )
        raise self._failed(Error(type=ErrorType.QUEUE_TIMEOUT, message=message))

    async def _without_place(self, taken: Taken) -> None:
        """What becomes of a job that no attempt can be made of now."""
        if await self._taking.leave():
            raise asyncio.CancelledError
        if taken is Taken.MOVED:
            self._moved, self._phase = False, Phase.WAITING_FOR_DUE
            self._taking.lose_turn()
            self._publish()
            return
        self._queue_wait.leave(How.NOT_STARTED)
        if await self._queue_wait.goes_on(self._spec.queue, self._wait):
            self._moved = False
            return
        message = "no place came free under its concurrency limit within its queue_timeout"
        raise self._failed(Error(type=ErrorType.QUEUE_TIMEOUT, message=message))

    async def _conclude(self, handle: workflow.ActivityHandle[RawValue]) -> Step:
        """How the activity ended, taken down in the record, and what that means for the job."""
        self._handle, situation = None, self._situation()
        try:
            step: Step = after_return(read_result(await handle), situation)
        except ActivityError as error:
            ended = read_end(error)
            step = after_end(ended, situation)
            self._queue_wait.leave(ended.how, given_back=isinstance(step, Again) and step.given_back)
            count_attempt(self._spec.kind, self._spec.queue, ended.how, step.record)
        except ValueError as fault:
            step = after_bad_result(fault, situation)
        self._record = step.record
        return step

    def _situation(self) -> Situation:
        return Situation(
            record=self._record,
            seen=self._seen,
            dispatch=str(self._carry.dispatches),
            retry=self._spec.retry,
            now=workflow.now(),
            chance=workflow.random().random(),
            unhandled=self._carry.unhandled,
            once=self._taking.concern,
        )

    async def _withdraw(self, handle: workflow.ActivityHandle[RawValue]) -> None:
        """Cancels the activity, after a look at what its worker said: that goes with it when it waits for a retry."""
        if self._stop.seen.attempts:
            self._seen = self._stop.seen
        else:
            with contextlib.suppress(ActivityError, ValueError):
                said = await workflow.execute_activity(
                    LAST_RECORD,
                    str(self._carry.dispatches),
                    result_type=dict[str, Any],
                    activity_id="last-record",
                    schedule_to_close_timeout=_ASKING,
                    summary="reads the attempts so far",
                )
                self._seen = Record.model_validate(said)
        handle.cancel()

    # -- endings ------------------------------------------------------------------------------------------

    async def _end_cancelled(self) -> dict[str, Any]:
        ending = await self._stop_attempt(self._stop.grace)
        if ending is not None:
            return ending
        reason = self._stop.reason or workflow.cancellation_reason() or "cancelled"
        message = cut(reason, limits.ERROR_MESSAGE_LENGTH)
        self._publish(error=Error(type=ErrorType.CANCELLED, message=message))
        raise asyncio.CancelledError

    async def _end_expired(self) -> dict[str, Any]:
        ending = await self._stop_attempt(_DEADLINE_GRACE)
        if ending is not None:
            return ending
        workflow.upsert_search_attributes([attributes.OUTCOME.value_set(State.EXPIRED)])
        self._expired = True
        message = "the job was not finished by its deadline"
        raise self._failed(Error(type=ErrorType.DEADLINE_EXCEEDED, message=message))

    async def _stop_attempt(self, grace: timedelta) -> dict[str, Any] | None:
        """Stops what runs and takes down how it ended; an ending when the handler was done all the same."""
        self._phase = Phase.ENDING
        handle = self._handle
        if handle is None:
            return None
        if not handle.done():
            await self._withdraw(handle)
            try:
                await workflow.wait_condition(handle.done, timeout=grace)
            except TimeoutError:
                self._record = abandoned(self._situation())
                return None
        step = await self._conclude(handle)
        return self._ending(step.result) if isinstance(step, Succeed) else None

    def _ending(self, result: Any = None) -> dict[str, Any]:
        record, attempts = self._record, self._record.attempts
        if self._carry.pipeline_id is not None:  # all that comes back must have room in its history
            attempts = fitting(attempts, limits.PIPELINE_ATTEMPTS_BYTES)
        return Ending(
            result=result, attempts=attempts, checkpoint=record.checkpoint, progress=record.progress
        ).compact()

    def _failed(self, error: Error) -> ApplicationError:
        self._phase = Phase.ENDING
        return ApplicationError(error.message, self._ending(), type=error.type, non_retryable=True)

    # -- what people see, and say -------------------------------------------------------------------------

    async def _introduce(self) -> None:
        """What the API does for its jobs, of one that was started without it: search attributes, and the due time."""
        if workflow.info().typed_search_attributes.get(attributes.KIND) is not None:
            return
        before = self._due_at
        found = attributes.of_job(self._spec, before)
        workflow.upsert_search_attributes([pair.key.value_set(pair.value) for pair in found])
        due = await asked_due_time(self._spec, self._carry)
        if due is not None and self._due_at == before:  # nobody has moved it meanwhile
            self._due_at = due
            workflow.upsert_search_attributes([attributes.DUE_AT.value_set(due)])
