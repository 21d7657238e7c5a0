"""From facts to the job that callers see: pure functions of `(facts, now)`."""

from datetime import datetime, timedelta

from temporalio.client import WorkflowExecutionStatus as Status

from duetime.contracts.job import JobSpec
from duetime.contracts.record import Attempt, Error, Record
from duetime.contracts.states import FINAL, ErrorType, State
from duetime.contracts.view import AttemptView, ErrorView, JobView, LeaseView, Links, ProgressView
from duetime.jobs.by_hand import as_far_as_readable
from duetime.jobs.facts import Dispatched, Facts, Known
from duetime.jobs.unrecorded import with_failures


def state_of(facts: Facts, now: datetime) -> State:
    """The one state that the job is in."""
    match facts.status:
        case Status.COMPLETED:
            return State.SUCCEEDED
        case Status.FAILED:
            return State(facts.outcome) if facts.outcome in FINAL else State.FAILED
        case Status.CANCELED | Status.TERMINATED:
            return State.CANCELLED
        case Status.TIMED_OUT:
            return State.EXPIRED
    if facts.dispatched is not None:
        return _state_of_dispatched(facts.dispatched, now)
    if facts.view is not None and facts.view.next_attempt_at is not None:
        return State.RETRYING if facts.view.next_attempt_at > now else State.QUEUED
    if due_at(facts) > now:
        return State.SCHEDULED
    return State.WAITING if facts.waiting or _is_to_wait(facts) else State.QUEUED


def _is_to_wait(facts: Facts) -> bool:
    """Whether it comes after other jobs and has not come to look at them."""
    if facts.spec is None or not facts.spec.after or facts.carry.ordered:
        return False
    return facts.view is None or (facts.view.ready_at is None and not facts.view.record.attempts)


def _state_of_dispatched(dispatched: Dispatched, now: datetime) -> State:
    if dispatched.held:
        return State.RUNNING
    backing_off = dispatched.next_attempt_at is not None and dispatched.next_attempt_at > now
    return State.RETRYING if backing_off else State.QUEUED


def due_at(facts: Facts) -> datetime:
    """When the job is or was due, moves included."""
    if facts.view is not None and facts.view.due_at is not None:
        return facts.view.due_at
    spec = facts.spec
    if spec is None:
        return facts.started_at
    # Started by hand with a start delay, a job may name no time; by the API it always names one.
    accepted_at = facts.started_at if spec.delay is not None else facts.execution_at
    try:
        return spec.due_at(facts.id, accepted_at)
    except ValueError:
        return accepted_at  # More than five years ahead, started by hand: the workflow refused it.


def record_of(facts: Facts) -> Record:
    """All attempts known now, the one under way included."""
    record = _told(facts)
    last_of = {attempt.dispatch: attempt.number for attempt in record.attempts}
    whole, more = record.model_copy(update={"attempts": []}), 0
    for attempt in record.attempts:
        known = facts.known.get(attempt.dispatch) if is_unknown(attempt) else None
        if known is not None:
            if last_of[attempt.dispatch] == attempt.number:
                length = len(whole.attempts)
                whole = with_failures(whole, attempt.dispatch, known.tries - 1, known.last_failure)
                more += len(whole.attempts) - length
            attempt = _completed(attempt, known, whole)
        attempt = attempt.model_copy(update={"number": attempt.number + more})
        whole = whole.model_copy(update={"attempts": [*whole.attempts, attempt]})
    return whole


def is_unknown(attempt: Attempt) -> bool:
    """Whether nobody took down who ran this attempt, or when; the server's history may know."""
    return attempt.finished_at is not None and (attempt.worker is None or attempt.started_at is None)


def _completed(attempt: Attempt, known: Known, before: Record) -> Attempt:
    token = before.token_at(known.started_at)
    changes = {"worker": known.worker, "started_at": known.started_at, "fencing_token": token}
    return attempt.model_copy(update=changes)


def _told(facts: Facts) -> Record:
    if facts.ending is not None:
        ending = facts.ending
        return Record(
            attempts=ending.attempts,
            checkpoint=ending.checkpoint,
            progress=ending.progress,
            token_floor=facts.carry.record.token_floor,
        )
    dispatched = facts.dispatched
    record = facts.view.record if facts.view else facts.carry.record
    if dispatched is None:
        return facts.undecided or record
    record = dispatched.sign.record if dispatched.sign else record
    failures = dispatched.server_attempt - 1
    record = with_failures(record, dispatched.activity_id, failures, dispatched.last_failure)
    return record.with_attempt(_under_way(dispatched, record)) if dispatched.held else record


def _under_way(dispatched: Dispatched, record: Record) -> Attempt:
    last = record.attempts[-1] if record.attempts else None
    if last is not None and last.started_at is not None and last.started_at == dispatched.started_at:
        return last
    token = record.token_at(dispatched.started_at) if dispatched.started_at else None
    return Attempt(
        number=record.next_number,
        fencing_token=token,
        worker=dispatched.worker,
        started_at=dispatched.started_at,
        dispatch=dispatched.activity_id,
    )


def view_of(facts: Facts, now: datetime, links: Links) -> JobView:
    """The job as it is answered."""
    spec = facts.spec or as_far_as_readable(facts.raw_input)
    state, due, record = state_of(facts, now), due_at(facts), record_of(facts)
    started = next((attempt.started_at for attempt in record.attempts if attempt.started_at), None)
    return JobView(
        id=facts.id,
        run_id=facts.run_id,
        kind=spec.kind,
        queue=spec.queue,
        state=state,
        payload=spec.payload,
        tags=spec.tags,
        priority=(facts.view.priority if facts.view else None) or spec.priority,
        created_at=facts.started_at,
        due_at=due,
        started_at=started,
        finished_at=facts.closed_at,
        late_by=_lateness(state, due, started, facts.closed_at or now),
        attempt=record.used,
        max_attempts=spec.retry.max_attempts,
        next_attempt_at=_next_attempt_at(facts, state),
        lease=_lease(facts.dispatched, spec, record) if state is State.RUNNING and facts.dispatched else None,
        attempts=[_attempt(attempt) for attempt in record.attempts],
        progress=ProgressView.model_validate(record.progress.model_dump()) if record.progress else None,
        checkpoint=record.checkpoint,
        result=facts.ending.result if facts.ending else None,
        error=_error(facts, state),
        schedule_id=facts.schedule_id or facts.carry.schedule_id,
        pipeline_id=facts.carry.pipeline_id,
        nominal_time=facts.nominal_time,
        links=links,
    )


def _lateness(state: State, due: datetime, started: datetime | None, now: datetime) -> timedelta | None:
    """How much later than due the first attempt began, or how late it is by now."""
    if started is None and (state is State.SCHEDULED or state in FINAL):
        return None
    return max(timedelta(0), (started or now) - due)


def _next_attempt_at(facts: Facts, state: State) -> datetime | None:
    if state is not State.RETRYING:
        return None
    if facts.dispatched is not None:
        return facts.dispatched.next_attempt_at
    return facts.view.next_attempt_at if facts.view else None


def _lease(dispatched: Dispatched, spec: JobSpec, record: Record) -> LeaseView | None:
    if dispatched.started_at is None:
        return None
    renewed = max(filter(None, (dispatched.started_at, dispatched.heartbeat_at)))
    return LeaseView(
        worker=dispatched.worker,
        fencing_token=record.attempts[-1].fencing_token or 0,
        acquired_at=dispatched.started_at,
        expires_at=renewed + spec.lease,
    )


def _attempt(attempt: Attempt) -> AttemptView:
    return AttemptView.model_validate(attempt.model_dump())


def _error(facts: Facts, state: State) -> ErrorView | None:
    """Why the job ended, or why its last attempt failed when it goes on."""
    error = facts.error or (facts.view.error if facts.view and state in FINAL else None)
    attempts = record_of(facts).attempts
    last: Error | None = attempts[-1].error if attempts else None
    if error is None:
        error = last if state is not State.SUCCEEDED else None
    elif last is not None and last.type == error.type:
        error = last  # the same failure, with its stack
    if error is None and state is State.CANCELLED:
        error = Error(type=ErrorType.CANCELLED, message="cancelled")
    return ErrorView.model_validate(error.model_dump()) if error else None
