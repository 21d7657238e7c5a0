"""From facts to the pipeline that callers see: pure functions of `(facts, parts, now)`."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

from temporalio.client import WorkflowExecutionStatus as Status

from api.pipelines.critical import Timed, critical_path
from api.pipelines.facts import PipelineFacts
from api.pipelines.parts import Part
from duetime.contracts.pipeline import job_id
from duetime.contracts.pipeline_rules import in_order
from duetime.contracts.pipeline_state import FINAL_MARKS, STATE_OF, Mark
from duetime.contracts.pipeline_view import (
    CriticalPathView,
    PipelineJobView,
    PipelineLinks,
    PipelineView,
    Reason,
    StepView,
)
from duetime.contracts.record import Error
from duetime.contracts.states import FINAL, ErrorType, State
from duetime.contracts.view import ErrorView

_NOTHING = Part(State.QUEUED)
_WAITING: Mapping[State, Reason] = {State.SCHEDULED: "time", State.QUEUED: "start"}
_SKIPPED: Mapping[Mark, Reason] = {
    Mark.NOT_NEEDED: "not_needed",
    Mark.UPSTREAM_FAILED: "upstream_failed",
    Mark.HALTED: "halted",
}


def state_of(facts: PipelineFacts) -> State:
    """The one state that the pipeline is in. It is `queued` while no worker has looked at it, and `scheduled` while a
    jitter of its schedule holds it back."""
    if facts.is_open and facts.progress is not None and facts.progress.starts_at is not None:
        return State.SCHEDULED
    return open_or_final(facts.status, facts.outcome, is_known=facts.progress is not None)


def open_or_final(status: Status, outcome: str | None, *, is_known: bool) -> State:
    """The same of what an index knows, too."""
    match status:
        case Status.COMPLETED:
            return State.SUCCEEDED
        case Status.FAILED:
            return State(outcome) if outcome in FINAL else State.FAILED
        case Status.CANCELED | Status.TERMINATED:
            return State.CANCELLED
        case Status.TIMED_OUT:
            return State.EXPIRED
    return State.RUNNING if is_known else State.QUEUED


def view_of(
    facts: PipelineFacts, parts: Mapping[str, Part], now: datetime, links: PipelineLinks
) -> PipelineView:
    """The pipeline as it is answered."""
    spec, progress = facts.spec, facts.progress
    order = in_order({name: job.needs for name, job in spec.jobs.items()})
    marks = facts.marks
    jobs = {name: _job(facts, name, marks, parts.get(name, _NOTHING)) for name in order}
    error = facts.error
    if error is None and state_of(facts) is State.CANCELLED:
        reason = progress.reason if progress else None
        error = Error(type=ErrorType.CANCELLED, message=reason or "cancelled")
    return PipelineView(
        id=facts.id,
        run_id=facts.run_id,
        state=state_of(facts),
        created_at=facts.started_at,
        finished_at=facts.closed_at,
        counts=dict(Counter(job.state for job in jobs.values())),
        jobs=jobs,
        max_parallel=spec.max_parallel,
        on_failure=spec.on_failure,
        halt=progress.halt if progress else None,
        starts_at=progress.starts_at if progress and facts.is_open else None,
        deadline_at=progress.deadline_at if progress else None,
        critical_path=_path(facts, jobs, marks, now),
        schedule_id=progress.schedule_id if progress else facts.schedule_id,
        nominal_time=progress.nominal_time if progress else facts.nominal_time,
        error=_error(error),
        links=links,
    )


def _job(facts: PipelineFacts, name: str, marks: Mapping[str, Mark], part: Part) -> PipelineJobView:
    job, mark = facts.spec.jobs[name], marks[name]
    state = _job_state(facts, mark, part)
    waits_for = [needed for needed in job.needs if marks[needed] not in FINAL_MARKS]
    return PipelineJobView(
        id=job_id(facts.id, name),
        kind=job.kind,
        queue=job.queue,
        state=state,
        needs=job.needs,
        when=job.when,
        items=part.items,
        reason=_reason(facts, state, mark, waits_for),
        waits_for=waits_for if state is State.WAITING else [],
        started_at=part.started_at,
        finished_at=part.ended_at if state in FINAL else None,
        attempt=part.attempt,
        error=_error(facts.faults.get(name)) or (part.error if state is not State.SUCCEEDED else None),
    )


def _reason(facts: PipelineFacts, state: State, mark: Mark, waits_for: list[str]) -> Reason | None:
    if state is State.WAITING and mark is Mark.WAITING:
        if waits_for:
            return "needs"
        return _WAITING.get(state_of(facts), "room")
    if state is State.SKIPPED:
        return _SKIPPED.get(mark, "halted")
    return None


def _job_state(facts: PipelineFacts, mark: Mark, part: Part) -> State:
    if mark not in (Mark.BEGUN, Mark.WAITING):
        return STATE_OF[mark]
    if mark is Mark.BEGUN:
        # Whoever ends a pipeline from outside ends its jobs with it, a moment later.
        return part.state if facts.is_open or part.state in FINAL else State.CANCELLED
    return State.WAITING if facts.is_open else State.SKIPPED


def _path(
    facts: PipelineFacts, jobs: Mapping[str, PipelineJobView], marks: Mapping[str, Mark], now: datetime
) -> CriticalPathView:
    timed: dict[str, Timed] = {}
    for name, job in jobs.items():
        ended = job.finished_at
        if job.state is State.SKIPPED:
            ends = [timed[needed].ended_at or facts.started_at for needed in job.needs]
            ended = max(ends, default=facts.started_at)
        elif job.state in FINAL and ended is None and name not in facts.faults:
            return CriticalPathView()  # its end has not been read: any path would be a guess
        timed[name] = Timed(name, tuple(job.needs), job.started_at, ended, begun=marks[name] is Mark.BEGUN)
    steps = critical_path(timed.values(), facts.started_at, facts.closed_at or now)
    return CriticalPathView(
        jobs=[StepView(name=step.name, waited=step.waited, ran=step.ran) for step in steps],
        took=sum((step.waited + step.ran for step in steps), timedelta(0)),
        final=not facts.is_open,
    )


def _error(error: Error | None) -> ErrorView | None:
    return ErrorView.model_validate(error.model_dump(exclude={"stack"})) if error else None
