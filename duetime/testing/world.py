"""The fake's server and workflow in one: jobs, queues and a clock, and what happens when.

Nothing here waits. `due` carries out what is due at the clock's time and hands over the attempts that begin;
`next_event` is the time at which something is due next. What becomes of a job after an attempt is decided by
`duetime.decisions`, as in the real workflow.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, assert_never

from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError

from duetime.contracts.record import Assignment, Error, Sign, read_sign
from duetime.contracts.states import ErrorType, State
from duetime.decisions import (
    Again,
    Cancelled,
    Ended,
    Fail,
    How,
    Situation,
    Step,
    Succeed,
    after_end,
    after_return,
)
from duetime.handlers import Handler
from duetime.testing.attempt import FakeAttempt, last_sign_of_the_dead
from duetime.testing.job import FakeJob, Phase

_MICROSECOND = timedelta(microseconds=1)


class World:
    """All that the fake knows. Not for use by two threads at once: whoever calls holds the fake's lock."""

    def __init__(self, now: datetime, changed: Callable[[], None]) -> None:
        self.now = now
        self.jobs: dict[str, FakeJob] = {}
        #: Handlers by queue and kind. A queue that is here has a worker.
        self.queues: dict[str, dict[str, Handler]] = {}
        self.changed = changed
        self._chance = random.Random(0)  # noqa: S311
        self._last_token_at = now - _MICROSECOND
        self._submitted = 0

    def next_number(self) -> int:
        self._submitted += 1
        return self._submitted

    # -- time ---------------------------------------------------------------------------------------------

    def next_event(self) -> datetime | None:
        """When something is due next; the past when it is now."""
        events = [event for job in self.jobs.values() if job.is_open for event in self._events(job)]
        return min(events, default=None)

    def _events(self, job: FakeJob) -> Iterable[datetime]:
        if job.deadline_at is not None and job.phase is not Phase.RUNNING:
            yield job.deadline_at
        match job.phase:
            case Phase.WAITING if job.predecessors.settled:
                yield self.now if job.predecessors.fault() else job.due_at
            case Phase.QUEUED if job.spec.queue in self.queues and self._may_go(job):
                yield self.now
            case Phase.QUEUED if job.spec.queue_timeout is not None and job.queued_at is not None:
                yield job.queued_at + job.spec.queue_timeout
            case Phase.RETRYING | Phase.BACKING_OFF if job.next_at is not None:
                yield job.next_at
            case Phase.RUNNING if job.attempt is not None and job.attempt.lost_at is not None:
                yield job.attempt.lost_at
                if job.deadline_at is not None:
                    yield job.deadline_at

    def due(self) -> list[tuple[FakeJob, FakeAttempt]]:
        """Carries out what is due now; the attempts that begin are the caller's to run."""
        begun: list[tuple[FakeJob, FakeAttempt]] = []
        while True:
            due = [
                job
                for job in sorted(self.jobs.values(), key=lambda job: (job.priority, job.due_at, job.number))
                if job.is_open and any(event <= self.now for event in self._events(job))
            ]
            if not due:
                return begun
            for job in due:
                if job.is_open:  # none of those before has ended it
                    begun += [(job, attempt) for attempt in self._carry_on(job)]
            self.changed()

    def _carry_on(self, job: FakeJob) -> Sequence[FakeAttempt]:
        if job.deadline_at is not None and job.deadline_at <= self.now:
            self._expire(job)
            return ()
        match job.phase:
            case Phase.WAITING if fault := job.predecessors.fault():
                self.end(job, State.FAILED, error=fault)
            case Phase.WAITING:
                self._dispatch(job)
            case Phase.BACKING_OFF:
                self._dispatch(job)
            case Phase.RETRYING:
                job.phase, job.next_at, job.queued_at = Phase.QUEUED, None, self.now
            case Phase.RUNNING if job.attempt is not None:
                self._conclude(
                    job, Ended(How.LEASE_LOST, sign=read_sign(job.details), worker=job.attempt.worker)
                )
            case Phase.QUEUED if job.spec.queue not in self.queues or not self._may_go(job):
                if job.queued_at is None or job.spec.queue_timeout is None:
                    return ()
                if self.now < job.queued_at + job.spec.queue_timeout:  # another took the place at this moment
                    return ()
                self._conclude(job, Ended(How.NOT_STARTED))
            case Phase.QUEUED:
                return self._take(job)
        return ()

    def _may_go(self, job: FakeJob) -> bool:
        """Whether a place is free under its concurrency key. The job submitted last says how many there are."""
        wanted = job.spec.concurrency
        if wanted is None:
            return True
        same = [
            other
            for other in self.jobs.values()
            if other.is_open and other.spec.concurrency and other.spec.concurrency.key == wanted.key
        ]
        last = max(same, key=lambda other: other.number).spec.concurrency or wanted
        return sum(other.has_place for other in same) < last.limit

    # -- attempts -----------------------------------------------------------------------------------------

    def _dispatch(self, job: FakeJob) -> None:
        """The workflow starts an activity: a fresh budget of tries for the server, no details."""
        job.dispatches += 1
        job.tries_left = max(1, job.spec.retry.max_attempts - job.record.used)
        job.details, job.next_at, job.reason = [], None, None
        job.phase, job.queued_at = Phase.QUEUED, self.now

    def _take(self, job: FakeJob) -> Sequence[FakeAttempt]:
        handler = self.queues[job.spec.queue].get(job.spec.kind)
        if handler is None:
            sign = (read_sign(job.details) or Sign()).model_copy(update={"no_handler": True})
            self._conclude(job, Ended(How.FAILED, type="NoHandler", sign=sign))
            return ()
        # Tokens grow with every attempt, whatever the clock does.
        self._last_token_at = max(self.now, self._last_token_at + _MICROSECOND)
        job.phase, job.queued_at, job.has_place = Phase.RUNNING, None, job.spec.concurrency is not None
        job.attempt = FakeAttempt(
            handler, self._assignment(job), job.spec.payload, self._last_token_at, job.details, self.changed
        )
        return (job.attempt,)

    def _assignment(self, job: FakeJob) -> Assignment:
        spec = job.spec
        return Assignment(
            id=job.id,
            run_id=job.run_id,
            kind=spec.kind,
            queue=spec.queue,
            idempotency_key=job.idempotency_key,
            due_at=job.due_at,
            max_attempts=spec.retry.max_attempts,
            attempts_used=job.record.used,
            dispatch=str(job.dispatches),
            retry=spec.retry.model_dump(mode="json", exclude_defaults=True),
            timeout=spec.timeout.total_seconds(),
            lease=spec.lease.total_seconds(),
            record=job.record,
        )

    def attempt_returned(self, job: FakeJob, attempt: FakeAttempt, answer: Any) -> None:
        """The activity of `attempt` returned; nothing when the job has been taken from it meanwhile."""
        if job.attempt is attempt:
            self._step(job, after_return(answer, self._situation(job)))

    def attempt_raised(self, job: FakeJob, attempt: FakeAttempt, error: BaseException) -> None:
        """The activity of `attempt` failed: what the server does by itself, and else what the workflow decides."""
        if job.attempt is not attempt:
            return
        before, job.details = job.details, attempt.details
        if not isinstance(error, ApplicationError):
            how = How.CANCELLED if job.cancelling is not None else How.FAILED
            self._conclude(
                job, Ended(how, type(error).__name__, str(error), read_sign(job.details), heard=True)
            )
            return
        left_behind = last_sign_of_the_dead(error, before)
        if left_behind is not None:
            job.details = left_behind
            attempt.lost_at = attempt.started_at + job.spec.lease
            self.changed()
            return
        job.tries_left -= 1
        if (
            error.non_retryable
            or error.type in job.spec.retry.non_retryable
            or job.tries_left < 1
            or job.cancelling is not None
        ):
            worker = attempt.worker
            self._conclude(
                job, Ended(How.FAILED, error.type or "", error.message, read_sign(error.details), worker)
            )
            return
        job.attempt, job.phase, job.has_place = None, Phase.RETRYING, False
        job.next_at = self.now + (error.next_retry_delay or timedelta(0))
        self.changed()

    def _conclude(self, job: FakeJob, ended: Ended) -> None:
        self._step(job, after_end(ended, self._situation(job)))

    def _situation(self, job: FakeJob) -> Situation:
        return Situation(
            record=job.record,
            dispatch=str(job.dispatches),
            retry=job.spec.retry,
            now=self.now,
            chance=self._chance.random(),
            unhandled=job.unhandled,
        )

    def _step(self, job: FakeJob, step: Step) -> None:
        job.record, job.attempt, job.details, job.has_place = step.record, None, [], False
        match step:
            case Succeed():
                self.end(job, State.SUCCEEDED, result=step.result)
            case Cancelled():
                self.end(job, State.CANCELLED, error=_cancelled(job.cancelling))
            case _ if job.cancelling is not None:
                self.end(job, State.CANCELLED, error=_cancelled(job.cancelling))
            case Fail():
                self.end(job, State.FAILED, error=step.error)
            case Again():
                job.unhandled = job.unhandled + 1 if step.reason == "no_handler" else 0
                job.phase, job.next_at, job.reason = Phase.BACKING_OFF, self.now + step.delay, step.reason
            case _:
                assert_never(step)
        self.changed()

    # -- endings ------------------------------------------------------------------------------------------

    def _expire(self, job: FakeJob) -> None:
        message = "the job was not finished by its deadline"
        job.record = job.told().given_up(self.now)
        self.end(job, State.EXPIRED, error=Error(type=ErrorType.DEADLINE_EXCEEDED, message=message))

    def terminate(self, job: FakeJob, reason: str) -> None:
        """Ends a job at once; whoever runs it loses the lease."""
        job.record = job.told().given_up(self.now)
        if job.attempt is not None:
            job.attempt.cancel(ActivityCancellationDetails(not_found=True))
        self.end(job, State.CANCELLED, error=_cancelled(reason))

    def stop(self, job: FakeJob, attempt: FakeAttempt, reason: str) -> None:
        """Asks a running handler to stop; its end is the job's."""
        job.cancelling = reason
        attempt.cancel(ActivityCancellationDetails(cancel_requested=True))

    def end(self, job: FakeJob, state: State, *, result: Any = None, error: Error | None = None) -> None:
        """The job is final, and those that wait for it learn so."""
        ends = [attempt.finished_at for attempt in job.record.attempts if attempt.finished_at]
        job.phase, job.final, job.finished_at = Phase.ENDED, state, max([self.now, *ends])
        job.result, job.error = result, error
        job.attempt, job.next_at, job.details = None, None, []
        for other in self.jobs.values():
            if other.is_open:
                other.predecessors.learn({job.id: state})
        self.changed()


def states_of(jobs: Mapping[str, FakeJob], ids: Iterable[str]) -> dict[str, State]:
    """The final states that are known of `ids`."""
    found = {job_id: jobs[job_id].final for job_id in ids if job_id in jobs}
    return {job_id: state for job_id, state in found.items() if state is not None}


def _cancelled(reason: str | None) -> Error:
    return Error(type=ErrorType.CANCELLED, message=reason or "cancelled")
