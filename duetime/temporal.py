"""Jobs with a plain Temporal client, without HTTP: start them, and wait for what becomes of them.

They are the same jobs: the API, the CLI and the Temporal Web UI show them, and any of these may change them. What the
API does beyond starting is left out: it does not look up the kind's announced defaults and schema (give `defaults_of`
for the first), does not check that the jobs named in `after` exist, and keeps no Idempotency-Key. Here the id is the
key; see `start_job`.

    client = await duetime.connection.connect("localhost:7233")
    await start_job(client, {"kind": "report.build", "id": "report-4711", "delay": "15m"})
    outcome = await await_job(client, "report-4711")
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import (
    ApplicationError,
    CancelledError,
    TerminatedError,
    TimeoutError,
    WorkflowAlreadyStartedError,
)
from temporalio.service import RPCError, RPCStatusCode

from duetime import attributes
from duetime.contracts import limits
from duetime.contracts.explain import explain
from duetime.contracts.ids import new_id
from duetime.contracts.job import JOB, JobSpec
from duetime.contracts.json_value import JsonTooLarge, JsonValueError, check_json
from duetime.contracts.kinds import with_defaults
from duetime.contracts.record import VIEW, Attempt, Ending, Progress, View
from duetime.contracts.states import ErrorType, State
from duetime.contracts.view import AttemptView, ErrorView, ProgressView
from duetime.errors import BY_STATE, JobNotSucceeded, invalid_field, problem_error, too_large
from duetime.handlers import Handler, handler_of
from duetime.starting import Take, begin, plan_start

OnConflict = Literal["reject", "return", "replace"]


@dataclass(frozen=True)
class JobOutcome:
    """How a job succeeded: what its handler returned, and how it came to that."""

    id: str
    result: Any
    attempts: list[AttemptView] = field(default_factory=list)
    checkpoint: Any = None
    progress: ProgressView | None = None


async def start_job(
    client: Client,
    job: JobSpec | Mapping[str, Any],
    *,
    on_conflict: OnConflict = "reject",
    reuse_id: bool = False,
    defaults_of: Handler | Callable[..., Any] | None = None,
) -> WorkflowHandle[Any, dict[str, Any]]:
    """Starts a job and gives its workflow's handle. It is durable when this returns.

    `job` has the fields of a submission. Its `id` is what keeps it from being started twice:

    ===================  ==============================  =======================================
    the id belongs to    `on_conflict`                   without `reuse_id` / with it
    ===================  ==============================  =======================================
    nobody               any                             starts
    an open job          `reject`                        `IdInUse`
    an open job          `return`                        the handle of that job
    an open job          `replace`                       ends it and starts, in one step
    a finished job       any                             `IdInUse` / starts
    ===================  ==============================  =======================================

    So a call that may be repeated (a retry, a message delivered twice) has an id of its own and `on_conflict="return"`,
    and takes `IdInUse` for "done already". A finished job holds its id for the namespace's retention. Without an id
    one is made up, and a repeated call starts another job.

    `defaults_of` is the handler whose `lease`, `timeout` and `retry` hold where the job does not say.
    Raises `InvalidField`, `TooLarge`, and `temporalio.service.RPCError` when the server cannot be had.
    """
    spec = _checked(job)
    if defaults_of is not None:
        found = defaults_of if isinstance(defaults_of, Handler) else handler_of(defaults_of)
        spec = with_defaults(spec, (found.defaults if found else None) or {})
    now = datetime.now(UTC)
    job_id = spec.id or new_id(now)
    try:
        start = plan_start(spec, job_id, now)
    except ValueError as error:
        pointer = "/run_at" if spec.run_at is not None else "/delay"
        raise invalid_field([{"pointer": pointer, "message": str(error)}]) from None
    take = Take.NEW
    for _ in range(5):  # the job in the way may end, or another begin, between two looks
        try:
            return await begin(client, start, take)
        except WorkflowAlreadyStartedError:
            handle = _handle(client, job_id)
            is_open = (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
        if is_open and on_conflict == "return":
            return handle
        if is_open and on_conflict == "replace":
            take = Take.REPLACE_ANY if reuse_id else Take.REPLACE
        elif not is_open and reuse_id:
            take = Take.AGAIN
        else:
            break
    raise problem_error(409, "id-in-use", "The id is in use", _in_use(job_id, is_open))


def _in_use(job_id: str, is_open: bool) -> str:
    if is_open:
        way_out = 'is open; `on_conflict="return"` gives it, `"replace"` puts this one in its place'
    else:
        way_out = "is finished; `reuse_id=True` uses the id again"
    return f"the job with the id {job_id!r} {way_out}"


async def await_job(client: Client, job_id: str, *, run_id: str | None = None) -> JobOutcome:
    """Waits for the end of a job, through all its attempts, and says how it succeeded.

    `JobFailed`, `JobWasCancelled`, `JobExpired` or `JobWasSkipped` when it ended otherwise, `NotFound` when nobody
    knows the id. `run_id` waits for that run, and not for the newest. Bound the wait with `asyncio.timeout`.
    """
    handle = _handle(client, job_id, run_id)
    try:
        ending = Ending.model_validate(await handle.result())
    except WorkflowFailureError as failure:
        raise await _not_succeeded(handle, failure.cause) from None
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        raise problem_error(404, "not-found", "Not found", f"no job has the id {job_id!r}") from None
    return JobOutcome(
        job_id, ending.result, _views(ending.attempts), ending.checkpoint, _progress(ending.progress)
    )


def _handle(client: Client, job_id: str, run_id: str | None = None) -> WorkflowHandle[Any, dict[str, Any]]:
    return client.get_workflow_handle(job_id, run_id=run_id, result_type=dict[str, Any])


def _checked(job: JobSpec | Mapping[str, Any]) -> JobSpec:
    try:
        spec = job if isinstance(job, JobSpec) else JobSpec.model_validate(dict(job))
        check_json(spec.payload, limits.PAYLOAD_BYTES)
    except ValidationError as error:
        raise invalid_field(explain(error, JobSpec, job)) from None
    except JsonTooLarge as error:
        raise too_large(f"/payload: {error}") from None
    except JsonValueError as error:
        raise invalid_field([{"pointer": f"/payload{error.pointer}", "message": str(error)}]) from None
    return spec


async def _not_succeeded(
    handle: WorkflowHandle[Any, dict[str, Any]], cause: BaseException | None
) -> JobNotSucceeded:
    """How a job ended that did not succeed: by its failure, and what the execution itself tells beside it."""
    described = await handle.describe()
    outcome = described.typed_search_attributes.get(attributes.OUTCOME)
    memo = await described.memo()
    view = View.model_validate(memo[VIEW]) if VIEW in memo else View()
    attempts = view.record.attempts
    error = ErrorView.model_validate(view.error.model_dump()) if view.error else None
    match cause:
        case ApplicationError():
            state = State(outcome) if outcome and outcome in BY_STATE else State.FAILED
            attempts = _ending(cause.details).attempts or attempts
            error = _told(cause, attempts)
        case TerminatedError():
            state = State.CANCELLED
            error = ErrorView(type=ErrorType.CANCELLED, message=cause.message)
            attempts = _ending(cause.details).attempts or attempts
        case TimeoutError():
            state, error = State.EXPIRED, ErrorView(type="WorkflowTimeout", message=cause.message)
        case CancelledError():
            state = State.CANCELLED
            error = error or ErrorView(type=ErrorType.CANCELLED, message="cancelled")
        case _:
            state, error = State.FAILED, ErrorView(type=type(cause).__name__, message=str(cause))
    return BY_STATE[state](handle.id, state, error, _views(attempts))


def _told(cause: ApplicationError, attempts: list[Attempt]) -> ErrorView:
    """The failure; as the last attempt tells it where it is the same one, with its stack."""
    last = attempts[-1].error if attempts else None
    if last is not None and last.type == cause.type:
        return ErrorView.model_validate(last.model_dump())
    return ErrorView(type=cause.type or "Error", message=cause.message)


def _ending(details: Any) -> Ending:
    told = details[0] if details else None
    return Ending.model_validate(told) if isinstance(told, dict) and "result" in told else Ending()


def _views(attempts: list[Attempt]) -> list[AttemptView]:
    return [AttemptView.model_validate(attempt.model_dump()) for attempt in attempts]


def _progress(progress: Progress | None) -> ProgressView | None:
    return ProgressView.model_validate(progress.model_dump()) if progress else None


__all__ = ["JOB", "JobOutcome", "await_job", "start_job"]
