"""Exit codes, and what to do about each: scripts rely on the numbers, people read the sentences."""

from enum import IntEnum

from duetime.contracts.problem import FaultView
from duetime.contracts.states import State
from duetime.errors import (
    ApiError,
    BadSetting,
    Conflict,
    DuetimeError,
    Forbidden,
    InvalidField,
    Malformed,
    NotFound,
    OperationWaitTimeout,
    PipelineWaitTimeout,
    RateLimited,
    TooLarge,
    Unauthorized,
    Unavailable,
    Unreachable,
    WaitTimeout,
)


class Exit(IntEnum):
    """What the exit code says."""

    OK = 0
    #: The job that was waited for failed.
    JOB_FAILED = 1
    #: Arguments, settings or fields that cannot be.
    USAGE = 2
    NOT_FOUND = 3
    #: The job is not in the state for this, or its id is taken.
    CONFLICT = 4
    #: No answer, or too many calls: try again later.
    UNAVAILABLE = 5
    #: No key, or not one for this.
    AUTH = 6
    #: The wait was over before the job.
    WAIT_TIMEOUT = 7
    JOB_CANCELLED = 8
    JOB_EXPIRED = 9
    JOB_SKIPPED = 10
    #: A fault of ours.
    INTERNAL = 70
    INTERRUPTED = 130
    #: Nobody reads our output any more: 128 + SIGPIPE.
    BROKEN_PIPE = 141


class ReaderGone(Exception):
    """Nobody reads our output any more. The libraries below have endings of their own for `BrokenPipeError`."""


BY_STATE = {
    State.SUCCEEDED: Exit.OK,
    State.FAILED: Exit.JOB_FAILED,
    State.CANCELLED: Exit.JOB_CANCELLED,
    State.EXPIRED: Exit.JOB_EXPIRED,
    State.SKIPPED: Exit.JOB_SKIPPED,
}

#: The first that fits counts.
BY_ERROR: tuple[tuple[type[DuetimeError], Exit], ...] = (
    (BadSetting, Exit.USAGE),
    (WaitTimeout, Exit.WAIT_TIMEOUT),
    (PipelineWaitTimeout, Exit.WAIT_TIMEOUT),
    (OperationWaitTimeout, Exit.WAIT_TIMEOUT),
    (NotFound, Exit.NOT_FOUND),
    (Conflict, Exit.CONFLICT),
    (Unauthorized, Exit.AUTH),
    (Forbidden, Exit.AUTH),
    (RateLimited, Exit.UNAVAILABLE),
    (Unavailable, Exit.UNAVAILABLE),
    (InvalidField, Exit.USAGE),
    (TooLarge, Exit.USAGE),
    (Malformed, Exit.USAGE),
)


def code_of(error: DuetimeError) -> Exit:
    """The exit code for an exception."""
    return next((code for kind, code in BY_ERROR if isinstance(error, kind)), Exit.INTERNAL)


def lines_of(error: DuetimeError) -> list[str]:
    """What to tell of an exception, and the way out."""
    if isinstance(error, InvalidField) and error.errors:
        return [
            f"{where}: {fault.message}" if (where := _option(fault)) else fault.message
            for fault in error.errors
        ]
    text = error.problem.detail or str(error) if isinstance(error, ApiError) else str(error)
    return [text, *_way_out(error)]


def _way_out(error: DuetimeError) -> list[str]:
    match error:
        case Unreachable():
            return ["name the API's address with --url or DUETIME_URL; `make run` starts one on this machine"]
        case Unauthorized():
            return ["put a key into DUETIME_API_KEY, or its file into --api-key-file"]
        case Forbidden():
            return ["use a key that has this scope, queue and kind"]
        case Conflict() if error.job is not None and error.problem.member("pipeline_id"):
            return [f"duetime pipelines retry {error.problem.member('pipeline_id')}"]
        case Conflict() if error.job is not None:
            return [f"see it: duetime get {error.job.id}"]
        case Conflict() if error.pipeline is not None:
            return [f"see it: duetime pipelines get {error.pipeline.id}"]
        case RateLimited() | Unavailable() if error.retry_after is not None:
            return [f"try again in {error.retry_after.total_seconds():.0f} s"]
        case WaitTimeout():
            return [f"go on waiting: duetime wait {error.job.id}"]
        case PipelineWaitTimeout():
            return [f"go on waiting: duetime pipelines wait {error.pipeline.id}"]
        case OperationWaitTimeout():
            return [f"go on waiting: duetime operations wait {error.operation.id}"]
    return []


def _option(fault: FaultView) -> str:
    """A field as it is said on the command line: `/run_at` is `--run-at`, `/tags/0` is `--tag`. What lies deeper, as in
    a payload, stays a pointer; nothing where all of it is at fault."""
    if fault.pointer == "header Idempotency-Key":
        return "--idempotency-key"
    pointer = fault.pointer.removeprefix("/").removeprefix("query ").removeprefix("filter/")
    name, _, deeper = pointer.partition("/")
    if not name or " " in name or (deeper and name not in ("tags", "after", "state", "tag")):
        return fault.pointer
    known = {"kind": "KIND", "tags": "--tag", "schedule_id": "--schedule", "pipeline_id": "--pipeline"}
    return known.get(name, f"--{name.replace('_', '-')}")
