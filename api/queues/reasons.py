"""Why a job is where it is: pure functions of the facts, one for each place that a job can be in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from api.queues.buckets import Bucket, bucket_of, ready_at
from api.queues.lanes import Lane
from api.queues.limit_reasons import limit_reason
from api.queues.verdict import ON_ITS_WAY, in_words
from api.queues.workers import Worker, busy_of, slots_of
from duetime.contracts.concurrency import Line
from duetime.contracts.job import JobSpec
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.states import AttemptOutcome, State
from duetime.contracts.view import JobView, Links
from duetime.contracts.why import Blocked, OtherJob, Reason
from duetime.jobs.facts import Facts
from duetime.jobs.state import view_of

#: A decision takes milliseconds. One that is tried again, and taken so long without an answer, fails: workers tell the
#: server of the first failure alone, and let it time out the others.
_DECIDING = timedelta(seconds=2)
_JOBS_SHOWN = 20
#: Lost leases in a row that are hardly chance.
_SUSPICIOUS = 2
NO_HANDLER = "no_handler"


@dataclass(frozen=True)
class Case:
    """A job, and what is known of its surroundings at `now`."""

    facts: Facts
    job: JobView
    now: datetime
    lane: Lane = field(default_factory=lambda: Lane(""))
    workers: Sequence[Worker] = ()
    orchestrators: Sequence[Worker] = ()
    #: The jobs that it comes after, with their states; `None` for one that nobody knows any more.
    others: Mapping[str, State | None] = field(default_factory=dict)
    #: Queues that its kind was announced on.
    announced_on: Sequence[str] = ()
    #: The limit under which it waits for a place, and the jobs that have one, as far as they may be seen.
    line: Line | None = None
    holders: Mapping[str, State | None] = field(default_factory=dict)

    @property
    def spec(self) -> JobSpec:
        return self.facts.spec or JobSpec(kind=self.job.kind)

    @property
    def bucket(self) -> Bucket | None:
        """`None` once it is final."""
        if not self.facts.is_open:
            return None
        return bucket_of(self.facts, self.now, self.lane.limit.is_paused)

    @property
    def has_no_handler(self) -> bool:
        """Whether a worker gave it back for want of a handler."""
        return self.facts.view is not None and self.facts.view.reason == NO_HANDLER

    @property
    def is_failing(self) -> bool:
        """Whether its workflow fails, rather than waits for somebody to run it."""
        decision = self.facts.decision
        if decision is None or decision.tries < 2:
            return False
        return decision.taken_at is not None and self.now - decision.taken_at > _DECIDING

    @property
    def waits_long(self) -> bool:
        return self.now - ready_at(self.facts) > ON_ITS_WAY


def case_of(facts: Facts, now: datetime, **surroundings: Any) -> Case:
    """The case of a job."""
    return Case(facts, view_of(facts, now, Links(self="", temporal="")), now, **surroundings)


def reasons(case: Case) -> list[Blocked]:
    """What keeps the job where it is; nothing when it is on its way."""
    match case.bucket:
        case None:
            return [_final(case)]
        case Bucket.SCHEDULED:
            return [_not_due(case)]
        case Bucket.WAITING:
            return [*_waiting(case), *_not_run(case)]
        case Bucket.RETRYING:
            return [_no_handler(case) if case.has_no_handler else _backing_off(case)]
        case Bucket.RUNNING:
            return [_running(case)]
        case Bucket.OVERDUE:
            return [*_overdue(case), *_no_worker(case)]
        case Bucket.LIMITED:
            return [*_limited(case), *_paused(case), *_no_orchestrator(case), *_no_worker(case)]
        case Bucket.PAUSED:
            return [*_paused(case), *_no_worker(case)]
        case Bucket.QUEUED:
            return [*_queued(case)] if case.workers else [*_no_worker(case)]


def next_change(case: Case) -> datetime | None:
    """When the job moves on by itself at the latest."""
    spec, dispatched = case.spec, case.facts.dispatched
    moments = [case.job.due_at + spec.deadline] if spec.deadline else []
    match case.bucket:
        case None:
            return None
        case Bucket.SCHEDULED:
            moments.append(case.job.due_at)
        case Bucket.RETRYING:
            moments += [case.job.next_attempt_at] if case.job.next_attempt_at else []
        case Bucket.RUNNING:
            moments += [dispatched.started_at + spec.timeout] if dispatched and dispatched.started_at else []
        case Bucket.LIMITED if spec.queue_timeout and case.facts.view and case.facts.view.limited_at:
            moments.append(case.facts.view.limited_at + spec.queue_timeout)
        case Bucket.QUEUED if spec.queue_timeout and dispatched and dispatched.scheduled_at:
            moments.append(dispatched.scheduled_at + spec.queue_timeout)
    return min((moment for moment in moments if moment > case.now), default=None)


def _final(case: Case) -> Blocked:
    job = case.job
    how = f": {job.error.type}" if job.error else ""
    return Blocked(
        reason=Reason.FINAL,
        detail=f"the job has ended, it is {job.state}{how}{_suspicion(job)}",
        since=job.finished_at,
        error=job.error.model_copy(update={"stack": None}) if job.error else None,
    )


def _not_due(case: Case) -> Blocked:
    left = in_words(case.job.due_at - case.now)
    return Blocked(reason=Reason.NOT_DUE, detail=f"the job is due in {left}", since=case.job.created_at)


def _waiting(case: Case) -> Iterator[Blocked]:
    open_ones = {job_id: state for job_id, state in case.others.items() if state is not State.SUCCEEDED}
    if not open_ones:
        return  # They have ended, and its workflow has still to learn of it.
    shown = [OtherJob(id=job_id, state=state) for job_id, state in open_ones.items()][:_JOBS_SHOWN]
    count = len(open_ones)
    yield Blocked(
        reason=Reason.WAITING_ON_JOBS,
        detail=f"{count:,} job{'s' if count != 1 else ''} that it comes after must succeed first",
        since=max(case.job.due_at, case.job.created_at),
        jobs=shown,
    )


def _backing_off(case: Case) -> Blocked:
    job, why = case.job, case.facts.view.reason if case.facts.view else None
    last = job.attempts[-1].outcome if job.attempts else None
    left = in_words(job.next_attempt_at - case.now) if job.next_attempt_at else "a moment"
    return Blocked(
        reason=Reason.RETRY_BACKOFF,
        detail=f"the last attempt ended {why or last or 'without success'}; the next is due in {left}{_suspicion(job)}",
        since=job.attempts[-1].finished_at if job.attempts else None,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        error=job.error.model_copy(update={"stack": None}) if job.error else None,
    )


def _no_handler(case: Case) -> Blocked:
    spec = case.spec
    where = f"announced on {', '.join(case.announced_on)}" if case.announced_on else "announced nowhere"
    return Blocked(
        reason=Reason.NO_HANDLER,
        detail=f"a worker of queue `{spec.queue}` took the job and has no handler for {spec.kind!r}, "
        f"which is {where}; it is tried again, at no cost",
        queue=spec.queue,
        kind=spec.kind,
        announced_on=list(case.announced_on),
        workers=len(case.workers),
    )


def _suspicion(job: JobView) -> str:
    """A job that its workers do not survive says so."""
    ended = [attempt.outcome for attempt in job.attempts if attempt.outcome is not AttemptOutcome.RUNNING]
    lost = len([*takewhile(lambda outcome: outcome is AttemptOutcome.LEASE_LOST, reversed(ended))])
    if lost < _SUSPICIOUS or job.state is State.SUCCEEDED:
        return ""
    return f"; its last {lost} attempts lost their lease: perhaps it kills or freezes its workers, see their logs"


def _lease(left: timedelta) -> str:
    if left <= timedelta(0):
        return "its lease is over, and the server is about to take the job back"
    return f"its lease ends in {in_words(left)} unless the worker is heard of"


def _running(case: Case) -> Blocked:
    lease = case.job.lease
    return Blocked(
        reason=Reason.RUNNING,
        detail=f"attempt {case.job.attempt} of {case.job.max_attempts} runs"
        + (f" on {lease.worker}; {_lease(lease.expires_at - case.now)}" if lease else "")
        + _suspicion(case.job),
        since=lease.acquired_at if lease else None,
        attempt=case.job.attempt,
        max_attempts=case.job.max_attempts,
        worker=lease.worker if lease else None,
        lease_expires_at=lease.expires_at if lease else None,
    )


def _limited(case: Case) -> Iterator[Blocked]:
    view = case.facts.view
    if view is not None and (found := limit_reason(case.spec, view, case.line, case.holders)) is not None:
        yield found


def _no_orchestrator(case: Case) -> Iterator[Blocked]:
    if not case.orchestrators:
        yield Blocked(
            reason=Reason.NO_ORCHESTRATOR,
            detail=f"the job is due, and no worker runs the workflows (queue `{ORCHESTRATION_QUEUE}`), which would "
            "put it into its queue",
            since=ready_at(case.facts),
            queue=ORCHESTRATION_QUEUE,
        )


def _not_run(case: Case) -> Iterator[Blocked]:
    """Why its workflow does not go on."""
    if not case.orchestrators:
        yield from _no_orchestrator(case)
    elif case.is_failing:
        yield Blocked(
            reason=Reason.WORKFLOW_FAILING,
            detail="the job's workflow fails whenever it is run; the log of the workers says why",
            since=ready_at(case.facts),
            tries=case.facts.decision.tries if case.facts.decision else 0,
        )


def _overdue(case: Case) -> Iterator[Blocked]:
    found = [*_not_run(case)]
    if not found and case.waits_long:
        found = [
            Blocked(
                reason=Reason.WORKERS_FULL,
                detail=f"the workers that run the workflows do not keep up (queue `{ORCHESTRATION_QUEUE}`)",
                since=ready_at(case.facts),
                queue=ORCHESTRATION_QUEUE,
                workers=len(case.orchestrators),
            )
        ]
    yield from found


def _paused(case: Case) -> Iterator[Blocked]:
    limit, queue = case.lane.limit, case.spec.queue
    if limit.is_paused:
        yield Blocked(
            reason=Reason.QUEUE_PAUSED,
            detail=f"queue `{queue}` is paused" + (f": {limit.note.reason}" if limit.note.reason else ""),
            since=limit.paused_since,
            queue=queue,
            said=limit.note.reason,
            by=limit.note.by,
        )
    if case.facts.dispatched is not None and case.facts.dispatched.paused:
        yield Blocked(reason=Reason.JOB_PAUSED, detail="somebody paused this job through Temporal")


def _no_worker(case: Case) -> Iterator[Blocked]:
    if case.workers:
        return
    queue, elsewhere = case.spec.queue, [name for name in case.announced_on if name != case.spec.queue]
    hint = f"; its kind was announced on {', '.join(elsewhere)}" if elsewhere else ""
    yield Blocked(
        reason=Reason.NO_WORKER,
        detail=f"no worker polls queue `{queue}`{hint}",
        since=ready_at(case.facts),
        queue=queue,
        kind=case.spec.kind,
        announced_on=list(case.announced_on),
        workers=0,
    )


def _queued(case: Case) -> Iterator[Blocked]:
    lane, workers = case.lane, case.workers
    slots, busy = slots_of(workers), busy_of(workers)
    full = busy >= slots if slots is not None and busy is not None else case.waits_long
    if case.has_no_handler and case.spec.queue not in case.announced_on:
        yield _no_handler(case)
    if lane.rate is not None and (lane.is_limiting or not full):
        yield Blocked(
            reason=Reason.RATE_LIMITED,
            detail=f"queue `{lane.name}` may start {lane.rate:g} jobs a second",
            since=ready_at(case.facts),
            queue=lane.name,
            per_second=lane.rate,
            said=lane.limit.note.reason or None,
            by=lane.limit.note.by or None,
            queued=lane.backlog,
        )
    if full:
        told = f"all {slots} slots are taken" if slots is not None else "they do not tell their slots"
        yield Blocked(
            reason=Reason.WORKERS_FULL,
            detail=f"{len(workers)} worker{'s serve' if len(workers) > 1 else ' serves'} queue `{lane.name}`: {told}",
            since=ready_at(case.facts),
            queue=lane.name,
            workers=len(workers),
            slots=slots,
            busy=busy,
            queued=lane.backlog,
        )
