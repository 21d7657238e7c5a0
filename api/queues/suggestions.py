"""What a person can do about each reason: calls and commands that work as they stand. Pure functions."""

from collections.abc import Iterator, Mapping
from typing import assert_never

from api.queues.limit_reasons import limit_suggestions
from api.queues.reasons import Case
from duetime.contracts.states import OPEN, State
from duetime.contracts.why import Blocked, Reason, Suggestion

_JOBS = 3
#: What a worker must be told so that it runs these built-in kinds.
_OPTIONS = {"command": " --allow-commands"}


def suggestions(case: Case, blocked: list[Blocked], temporal: str) -> list[Suggestion]:
    """What frees the job, in the order of what holds it. `temporal` are the options of the Temporal CLI."""
    found: list[Suggestion] = []
    for one in blocked:
        found += [item for item in _for(one, case, temporal) if item not in found]
    return found


def _for(blocked: Blocked, case: Case, temporal: str) -> Iterator[Suggestion]:
    job, queue, kind = f"/v1/jobs/{case.facts.id}", case.spec.queue, case.spec.kind
    match blocked.reason:
        case Reason.NOT_DUE:
            yield _call("run_now", "start it now", "POST", f"{job}:run-now")
        case Reason.RETRY_BACKOFF:
            yield _call("run_now", "start the next attempt now", "POST", f"{job}:run-now")
        case Reason.WAITING_ON_JOBS:
            yield from _about_others(blocked)
        case Reason.QUEUE_PAUSED:
            yield _call("resume_queue", f"resume queue `{queue}`", "POST", f"/v1/queues/{queue}:resume")
        case Reason.JOB_PAUSED:
            yield _unpause(case, temporal)
        case Reason.NO_WORKER:
            detail = f"start a worker on queue `{queue}` that has a handler for {kind!r}"
            yield _start_worker(detail, queue, _OPTIONS.get(kind, ""))
        case Reason.NO_HANDLER:
            detail = f"start a worker on queue `{queue}` that has a handler for {kind!r}"
            yield _start_worker(detail, queue, _OPTIONS.get(kind, " --handlers my_app.handlers"))
        case Reason.WORKERS_FULL if blocked.queue != queue:
            yield _orchestrate("start another worker that runs the workflows")
        case Reason.WORKERS_FULL:
            detail = f"start another worker on queue `{queue}`, or give one more slots"
            yield _start_worker(detail, queue, _OPTIONS.get(kind, ""))
            if case.job.priority > 1:
                yield _call("raise_priority", "let it go first", "PATCH", job, {"priority": 1})
        case Reason.RATE_LIMITED:
            yield from _about_rate(case)
        case Reason.RUNNING:
            yield _call("cancel", "cancel it", "POST", f"{job}:cancel", {"mode": "graceful"})
        case Reason.CONCURRENCY_LIMIT:
            for item in limit_suggestions(blocked, job, case.job.priority):
                yield Suggestion.model_validate(item)
        case Reason.NO_ORCHESTRATOR:
            yield _orchestrate("start a worker that runs the workflows")
        case Reason.WORKFLOW_FAILING:
            detail = "read the failure in Temporal's Web UI, and run the version of the service that the job began with"
            yield Suggestion(action="read_failure", detail=detail, command=_show(case, temporal))
        case Reason.FINAL:
            yield from _again(case, job)
        case _:
            assert_never(blocked.reason)


def _again(case: Case, job: str) -> Iterator[Suggestion]:
    """A job of a pipeline is redriven with that, which leaves alone what has succeeded."""
    succeeded, pipeline = case.job.state is State.SUCCEEDED, case.job.pipeline_id
    if pipeline is None:
        body = {"force": True} if succeeded else None
        yield _call("redrive", "run it again under the same id", "POST", f"{job}:retry", body)
    elif not succeeded:
        detail = f"run what failed of pipeline {pipeline!r} again, once that has ended"
        yield _call("redrive", detail, "POST", f"/v1/pipelines/{pipeline}:retry")


def _call(
    action: str, detail: str, method: str, path: str, body: Mapping[str, object] | None = None
) -> Suggestion:
    return Suggestion.model_validate(
        {"action": action, "detail": detail, "method": method, "path": path, "body": body}
    )


def _start_worker(detail: str, queue: str, more: str = "") -> Suggestion:
    command = f"python worker.py --queues {queue}{more}"
    return Suggestion(action="start_worker", detail=detail, command=command)


def _orchestrate(detail: str) -> Suggestion:
    return Suggestion(action="start_worker", detail=detail, command="python worker.py")


def _about_others(blocked: Blocked) -> Iterator[Suggestion]:
    for other in (blocked.jobs or [])[:_JOBS]:
        path = f"/v1/jobs/{other.id}"
        if other.state in (State.SCHEDULED, State.RETRYING):
            yield _call("run_now", f"start {other.id!r} now", "POST", f"{path}:run-now")
        elif other.state in OPEN:
            yield _call("look", f"see what holds {other.id!r}", "GET", f"{path}/why")


def _about_rate(case: Case) -> Iterator[Suggestion]:
    queue = case.spec.queue
    if case.lane.limit.rate is None:
        detail = f"the workers of queue `{queue}` ask for no more a second; start one that allows more"
        yield Suggestion(action="change_workers", detail=detail)
        return
    body = {"per_second": None, "reason": "no limit needed"}
    yield _call(
        "lift_rate", f"take the limit of queue `{queue}` away", "PUT", f"/v1/queues/{queue}/rate", body
    )


def _unpause(case: Case, temporal: str) -> Suggestion:
    activity = case.facts.dispatched.activity_id if case.facts.dispatched else "1"
    command = f"temporal activity unpause --workflow-id {case.facts.id} --activity-id {activity} {temporal}"
    return Suggestion(action="unpause", detail="let it go on", command=command)


def _show(case: Case, temporal: str) -> str:
    return f"temporal workflow show --workflow-id {case.facts.id} {temporal}"
