"""The workflow of one job: wait until it is due, have it attempted, end with its result or a typed failure.

The happy path is one activity and nothing else. What the server cannot decide by itself (a lost lease, an
interruption, a snooze, a timeout) comes back here; `decisions` says what is next. While this is off the straight path,
a `View` in the memo tells where the job stands.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, NoReturn, assert_never

from temporalio import workflow
from temporalio.common import Priority, RawValue, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.predecessors import PREDECESSORS
    from duetime import attributes
    from duetime.contracts.instants import parse_instant
    from duetime.contracts.record import DEPENDENTS, VIEW, Assignment, Attempt, Ending, Error, Record, View
    from duetime.contracts.states import AttemptOutcome, ErrorType, State
    from duetime.decisions import (
        Again,
        Cancelled,
        Fail,
        Situation,
        Step,
        Succeed,
        after_bad_result,
        after_end,
        after_return,
    )
    from duetime.predecessors import Predecessors
    from workflows.carry import Change, StopRequest
    from workflows.order import DEPENDENT, PREDECESSOR, Dependents
    from workflows.reading import bad_job, read_end, read_job, read_result

#: Timeouts that come back to the workflow instead of being retried by the server.
_OURS = ["TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose"]
#: What a handler gets to clean up when the deadline ends its job.
_DEADLINE_GRACE = timedelta(seconds=10)
_SOONEST = timedelta(milliseconds=1)


class _Phase(Enum):
    WAITING_FOR_DUE = auto()
    BACKING_OFF = auto()
    DISPATCHED = auto()
    ENDING = auto()


class _DeadlineExceeded(Exception):
    pass


@workflow.defn(dynamic=True)
class JobWorkflow:
    """Workflow type `Job`. Registered as the queue's dynamic workflow, which is the one kind that the SDK hands its
    arguments as they came: whatever somebody starts here fails readably, and no workflow task can loop on it."""

    @workflow.init
    def __init__(self, arguments: Sequence[RawValue]) -> None:
        self._phase = _Phase.WAITING_FOR_DUE
        self._error: Exception | None = None
        self._moved = False
        self._hurry = False
        self._stop = StopRequest()
        self._handle: workflow.ActivityHandle[RawValue] | None = None
        self._dependents = Dependents()
        try:
            self._spec, self._carry = read_job(arguments, workflow.info())
            self._due_at = self._carry.due_at or self._spec.due_at(
                workflow.info().workflow_id, workflow.info().workflow_start_time
            )
        except Exception as error:
            self._error = error
            return
        self._record = self._carry.record
        self._priority = self._carry.priority or self._spec.priority
        self._predecessors = Predecessors([] if self._carry.ordered else self._spec.after)
        for dependent in self._carry.dependents:
            self._dependents.add(dependent)

    @workflow.run
    async def run(self, arguments: Sequence[RawValue]) -> dict[str, Any]:
        try:
            ending = await self._to_its_end()
        except asyncio.CancelledError:
            await self._dependents.tell(State.CANCELLED)
            raise
        except ApplicationError as failure:
            expired = failure.type == ErrorType.DEADLINE_EXCEEDED
            await self._dependents.tell(State.EXPIRED if expired else State.FAILED)
            raise
        await self._dependents.tell(State.SUCCEEDED)
        return ending

    async def _to_its_end(self) -> dict[str, Any]:
        if self._error is not None:
            raise bad_job(self._error)
        self._index()
        try:
            return await self._live()
        except asyncio.CancelledError:
            return await self._end_cancelled()
        except _DeadlineExceeded:
            return await self._end_expired()

    async def _live(self) -> dict[str, Any]:
        await self._until_ordered()
        while True:
            if workflow.info().is_continue_as_new_suggested():
                self._start_over()
            await self._until_due()
            ending = await self._attempt()
            if ending is not None:
                return ending

    def _start_over(self) -> NoReturn:
        """A fresh history for a job that comes back for ever (no handler, snoozes)."""
        carry = self._carry.model_copy(
            update={
                "due_at": self._due_at,
                "priority": self._priority,
                "record": self._record,
                "ordered": True,
                "dependents": self._dependents.ids,
            }
        )
        workflow.continue_as_new(args=[self._spec.compact(), carry.compact()])

    # -- waiting ------------------------------------------------------------------------------------------

    async def _until_ordered(self) -> None:
        """Until the jobs named in `after` have succeeded; this one fails when one of them does not."""
        known = self._predecessors
        if known.remaining:
            check = workflow.start_activity(
                PREDECESSORS,
                known.remaining,
                result_type=dict[str, dict[str, State]],
                activity_id="after",
                start_to_close_timeout=timedelta(seconds=60),
                summary="waits for other jobs",
            )
            await self._wait(lambda: check.done() or known.settled, None)
            if check.done():
                known.learn((await check)["states"])
            else:
                check.cancel()
        if fault := known.fault():
            raise self._failed(fault)

    async def _until_due(self) -> None:
        self._phase = _Phase.WAITING_FOR_DUE
        while (left := self._due_at - workflow.now()) > timedelta(0):
            due = self._due_at
            await self._wait(lambda due=due: self._due_at != due, left)

    async def _back_off(self, step: Again) -> None:
        self._phase, self._hurry = _Phase.BACKING_OFF, False
        self._publish(next_attempt_at=workflow.now() + step.delay, reason=step.reason)
        if step.delay > timedelta(0):
            await self._wait(lambda: self._hurry, step.delay)

    async def _wait(self, condition: Any, span: timedelta | None) -> None:
        """Until `condition` or for `span`; the job's deadline cuts it short. `None` waits for ever."""
        left = self._until_deadline()
        if left is not None and left <= timedelta(0):
            raise _DeadlineExceeded
        cut_short = left is not None and (span is None or left < span)
        try:
            await workflow.wait_condition(condition, timeout=left if cut_short else span)
        except TimeoutError:
            if cut_short:
                raise _DeadlineExceeded from None

    def _until_deadline(self) -> timedelta | None:
        if self._spec.deadline is None:
            return None
        return self._due_at + self._spec.deadline - workflow.now()

    # -- attempts -----------------------------------------------------------------------------------------

    async def _attempt(self) -> dict[str, Any] | None:
        """Has the job attempted; its ending, or `None` when there is more to do."""
        self._phase = _Phase.DISPATCHED
        self._handle = handle = self._dispatch()
        await self._wait(lambda: handle.done() or self._moved, None)
        if not handle.done():
            handle.cancel()
            await self._wait(handle.done, None)
        moved, self._moved = self._moved, False
        step = await self._conclude(handle)
        match step:
            case Succeed():
                self._phase = _Phase.ENDING
                return self._ending(step.result)
            case Fail():
                raise self._failed(step.error)
            case Cancelled() if moved:
                self._publish()
            case Cancelled():
                raise asyncio.CancelledError
            case Again():
                self._carry.unhandled = self._carry.unhandled + 1 if step.reason == "no_handler" else 0
                await self._back_off(step)
            case _:
                assert_never(step)
        return None

    async def _conclude(self, handle: workflow.ActivityHandle[RawValue]) -> Step:
        """How the activity ended, taken down in the record, and what that means for the job."""
        self._handle = None
        situation = Situation(
            record=self._record,
            dispatch=str(self._carry.dispatches),
            retry=self._spec.retry,
            now=workflow.now(),
            chance=workflow.random().random(),
            unhandled=self._carry.unhandled,
        )
        try:
            step: Step = after_return(read_result(await handle), situation)
        except ActivityError as error:
            step = after_end(read_end(error), situation)
        except ValueError as fault:
            step = after_bad_result(fault, situation)
        self._record = step.record
        return step

    def _dispatch(self) -> workflow.ActivityHandle[RawValue]:
        spec, info = self._spec, workflow.info()
        self._carry.dispatches += 1
        assignment = Assignment(
            id=info.workflow_id,
            run_id=info.run_id,
            kind=spec.kind,
            queue=spec.queue,
            idempotency_key=self._carry.idempotency_key
            or f"{info.workflow_id}:{info.first_execution_run_id}",
            due_at=self._due_at,
            max_attempts=spec.retry.max_attempts,
            attempts_used=self._record.used,
            dispatch=str(self._carry.dispatches),
            retry=spec.retry.model_dump(mode="json", exclude_defaults=True),
            timeout=spec.timeout.total_seconds(),
            lease=spec.lease.total_seconds(),
            record=self._record,
        )
        first = max(spec.retry.initial_interval, _SOONEST)
        return workflow.start_activity(
            spec.kind,
            args=[spec.payload, assignment.model_dump(mode="json", exclude_defaults=True)],
            result_type=RawValue,
            activity_id=str(self._carry.dispatches),
            task_queue=spec.queue,
            start_to_close_timeout=spec.timeout,
            heartbeat_timeout=spec.lease,
            schedule_to_start_timeout=spec.queue_timeout,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            retry_policy=RetryPolicy(
                initial_interval=first,
                backoff_coefficient=spec.retry.backoff,
                maximum_interval=max(spec.retry.max_interval, first),
                maximum_attempts=max(1, spec.retry.max_attempts - self._record.used),
                non_retryable_error_types=[*_OURS, *spec.retry.non_retryable],
            ),
            priority=Priority(
                priority_key=self._priority,
                fairness_key=spec.fairness_key,
                fairness_weight=spec.fairness_weight if spec.fairness_key else None,
            ),
        )

    # -- endings ------------------------------------------------------------------------------------------

    async def _end_cancelled(self) -> dict[str, Any]:
        ending = await self._stop_attempt(self._stop.grace)
        if ending is not None:
            return ending
        reason = self._stop.reason or workflow.cancellation_reason() or "cancelled"
        self._publish(error=Error(type=ErrorType.CANCELLED, message=reason))
        raise asyncio.CancelledError

    async def _end_expired(self) -> dict[str, Any]:
        ending = await self._stop_attempt(_DEADLINE_GRACE)
        if ending is not None:
            return ending
        workflow.upsert_search_attributes([attributes.OUTCOME.value_set(State.EXPIRED)])
        message = "the job was not finished by its deadline"
        raise self._failed(Error(type=ErrorType.DEADLINE_EXCEEDED, message=message))

    async def _stop_attempt(self, grace: timedelta) -> dict[str, Any] | None:
        """Stops what runs and takes down how it ended; an ending when the handler was done all the same."""
        self._phase = _Phase.ENDING
        handle = self._handle
        if handle is None:
            return None
        if not handle.done():
            handle.cancel()
            try:
                await workflow.wait_condition(handle.done, timeout=grace)
            except TimeoutError:
                self._record = self._abandoned()
                return None
        step = await self._conclude(handle)
        return self._ending(step.result) if isinstance(step, Succeed) else None

    def _abandoned(self) -> Record:
        """The record when the handler did not answer in time: as the caller saw it, the open attempt closed."""
        record = (
            self._stop.seen if len(self._stop.seen.attempts) >= len(self._record.attempts) else self._record
        )
        last = record.attempts[-1] if record.attempts else None
        if last is None or last.outcome is not AttemptOutcome.RUNNING:
            last = Attempt(number=record.next_number, dispatch=str(self._carry.dispatches))
        changes = {"outcome": AttemptOutcome.CANCELLED, "finished_at": workflow.now()}
        return record.with_attempt(last.model_copy(update=changes))

    def _ending(self, result: Any = None) -> dict[str, Any]:
        record = self._record
        return Ending(
            result=result, attempts=record.attempts, checkpoint=record.checkpoint, progress=record.progress
        ).compact()

    def _failed(self, error: Error) -> ApplicationError:
        self._phase = _Phase.ENDING
        return ApplicationError(error.message, self._ending(), type=error.type, non_retryable=True)

    # -- what people see, and say -------------------------------------------------------------------------

    def _index(self) -> None:
        """Search attributes of a job that was started without the API."""
        if workflow.info().typed_search_attributes.get(attributes.KIND) is not None:
            return
        found = attributes.of_job(self._spec, self._due_at)
        workflow.upsert_search_attributes([pair.key.value_set(pair.value) for pair in found])

    def _publish(
        self,
        *,
        next_attempt_at: datetime | None = None,
        reason: str | None = None,
        error: Error | None = None,
    ) -> None:
        view = View(
            due_at=self._due_at,
            priority=self._priority,
            next_attempt_at=next_attempt_at,
            reason=reason,
            record=self._record,
            error=error,
        )
        workflow.upsert_memo({VIEW: view.compact()})

    @workflow.signal(name="stop")
    def stop(self, request: dict[str, Any]) -> None:
        """How a cancellation that follows is to be carried out."""
        try:
            self._stop = StopRequest.model_validate(request)
        except ValueError:
            workflow.logger.warning("a stop request that is none was left aside")

    @workflow.signal(name=DEPENDENT)
    def add_dependent(self, job_id: str) -> None:
        """Another job waits for this one. Who ends this job from outside finds it in the memo."""
        self._dependents.add(job_id)
        workflow.upsert_memo({DEPENDENTS: self._dependents.ids})

    @workflow.signal(name=PREDECESSOR)
    def predecessor_ended(self, told: dict[str, str]) -> None:
        """A job that this one waits for has ended."""
        if self._error is None:
            self._predecessors.learn({told["id"]: State(told["state"])})

    @workflow.update(name="move", unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def move(self, change: dict[str, Any]) -> None:
        """Another due time or priority; refused with `TooLate` once neither matters any more."""
        wanted = Change.model_validate(change)
        if wanted.priority is not None:
            self._priority = wanted.priority
        if wanted.run_at is not None:
            self._due_at = parse_instant(wanted.run_at)
            workflow.upsert_search_attributes([attributes.DUE_AT.value_set(self._due_at)])
            self._moved = self._phase is _Phase.DISPATCHED
        self._publish()
        await workflow.wait_condition(lambda: not self._moved)
        if self._phase is _Phase.ENDING:
            raise ApplicationError("the job was being finished", type="TooLate", non_retryable=True)

    @move.validator
    def _can_move(self, change: dict[str, Any]) -> None:
        Change.model_validate(change)
        self._refuse_unless(_Phase.WAITING_FOR_DUE, _Phase.DISPATCHED)

    @workflow.update(name="run_now")
    def run_now(self) -> None:
        """Start a scheduled job, or the next attempt of one that waits for it."""
        if self._phase is _Phase.WAITING_FOR_DUE:
            self._due_at = min(self._due_at, workflow.now())
            workflow.upsert_search_attributes([attributes.DUE_AT.value_set(self._due_at)])
            self._publish()
        self._hurry = True

    @run_now.validator
    def _can_run_now(self) -> None:
        self._refuse_unless(_Phase.WAITING_FOR_DUE, _Phase.BACKING_OFF)

    def _refuse_unless(self, *phases: _Phase) -> None:
        if self._error is not None or self._phase not in phases:
            raise ApplicationError("too late for that", type="TooLate", non_retryable=True)
