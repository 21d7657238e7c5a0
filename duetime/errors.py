"""What can go wrong for a caller, as one tree; the data is in attributes, the sentence is the text.

DuetimeError
├── BadSetting            a URL, key or option that cannot be (also a ValueError)
├── ApiError              the API refused or did not answer: `problem`, `status`, `errors`, `retry_after`
│   ├── Malformed         400, 415: not a request that it understands
│   ├── Unauthorized      401: no key, or one that is not valid (any more)
│   ├── Forbidden         403: the key is not for this
│   ├── NotFound          404: nothing has this id
│   ├── Conflict          409, 412: not in the state for this; `job` or `pipeline` is that as it is
│   │   ├── IdInUse       another job has the id
│   │   └── WrongState    too late, too early, or another run
│   ├── TooLarge          413, 414, 431: over a bound in bytes
│   ├── InvalidField      422: `errors` point at the fields
│   │   └── KeyReused     the Idempotency-Key came with another body before
│   ├── RateLimited       429: too many calls
│   └── Unavailable       408, 502, 503, 504: repeat later; `outcome_unknown` tells whether it may have been done
│       └── Unreachable   no answer at all
├── JobNotSucceeded       a job ended otherwise: `id`, `state`, `error`, `attempts`
│   ├── JobFailed
│   ├── JobWasCancelled
│   ├── JobExpired
│   └── JobWasSkipped
├── WaitTimeout           the job is not final yet: `job` (also a TimeoutError)
├── OperationWaitTimeout  the operation is not over yet: `operation` (also a TimeoutError)
└── PipelineWaitTimeout   the pipeline is not final yet: `pipeline` (also a TimeoutError)
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from duetime.contracts.explain import Fault, one_line
from duetime.contracts.operations import OperationView
from duetime.contracts.pipeline_view import PipelineView
from duetime.contracts.problem import PROBLEM_TYPE, FaultView, ProblemView
from duetime.contracts.states import State
from duetime.contracts.view import AttemptView, ErrorView, JobView


class DuetimeError(Exception):
    """Everything that Duetime raises at callers."""


class BadSetting(DuetimeError, ValueError):
    """A setting or an argument that cannot be; the text names it and what is allowed."""


class ApiError(DuetimeError):
    """The API refused a call. Subclasses say how; this itself is what has no class of its own, such as a 500."""

    def __init__(self, problem: ProblemView, retry_after: timedelta | None = None) -> None:
        super().__init__(problem, retry_after)
        self.problem = problem
        #: How long the API asks to wait before the call is repeated.
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.problem.detail or self.problem.title or type(self).__name__} ({self.problem.status})"

    @property
    def status(self) -> int:
        """The HTTP status; 0 when nothing was answered."""
        return self.problem.status

    @property
    def errors(self) -> list[FaultView]:
        """The bad fields, each with a pointer and a sentence."""
        return self.problem.errors


class Malformed(ApiError):
    """The API could not read the request."""


class Unauthorized(ApiError):
    """The call needs a key, or the one given is not valid (any more)."""


class Forbidden(ApiError):
    """The key is valid, but not for this."""


class NotFound(ApiError):
    """Nothing is known under this id."""


class Conflict(ApiError):
    """The state of things does not allow it."""

    @property
    def job(self) -> JobView | None:
        """The job as it is, where the API told."""
        try:
            return JobView.model_validate(self.problem.member("job"))
        except ValidationError:
            return None

    @property
    def pipeline(self) -> PipelineView | None:
        """The pipeline as it is, when the call was about one."""
        try:
            return PipelineView.model_validate(self.problem.member("pipeline"))
        except ValidationError:
            return None


class IdInUse(Conflict):
    """Another job has the id: open, or finished and the id not given free (`reuse_id`)."""


class WrongState(Conflict):
    """The job is not in a state for this, or its newest run is another one."""


class TooLarge(ApiError):
    """Over a bound in bytes, which the text names."""


class InvalidField(ApiError):
    """Fields that cannot be; `errors` points at each."""


class KeyReused(InvalidField):
    """The Idempotency-Key came with another body before."""


class RateLimited(ApiError):
    """Too many calls; nothing was done."""


class Unavailable(ApiError):
    """The API or Temporal behind it could not answer, also after repeating where that was safe."""

    @property
    def outcome_unknown(self) -> bool:
        """Whether it may have been carried out all the same."""
        return True


class Unreachable(Unavailable):
    """Nothing answered: no connection, or it broke."""

    @property
    def outcome_unknown(self) -> bool:
        return bool(self.problem.member("sent"))


class JobNotSucceeded(DuetimeError):
    """A job ended otherwise than by succeeding."""

    def __init__(
        self, job_id: str, state: State, error: ErrorView | None = None, attempts: Sequence[AttemptView] = ()
    ) -> None:
        super().__init__(job_id, state, error, attempts)
        self.id = job_id
        self.state = state
        self.error = error
        self.attempts = list(attempts)

    def __str__(self) -> str:
        why = f": {self.error.type}: {self.error.message}" if self.error else ""
        return f"the job {self.id!r} ended {self.state}{why}"


class JobFailed(JobNotSucceeded):
    """Its attempts are used up, or no retry could mend it."""


class JobWasCancelled(JobNotSucceeded):
    """Somebody cancelled it."""


class JobExpired(JobNotSucceeded):
    """Its deadline came first."""


class JobWasSkipped(JobNotSucceeded):
    """It was not needed."""


class WaitTimeout(DuetimeError, TimeoutError):
    """The wait is over and the job is not final; it goes on, and can be waited for again."""

    def __init__(self, job: JobView) -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return f"the job {self.job.id!r} is not final yet but {self.job.state}"


class PipelineWaitTimeout(DuetimeError, TimeoutError):
    """The wait is over and the pipeline is not final; it goes on, and can be waited for again."""

    def __init__(self, pipeline: PipelineView) -> None:
        super().__init__(pipeline)
        self.pipeline = pipeline

    def __str__(self) -> str:
        return f"the pipeline {self.pipeline.id!r} is not final yet but {self.pipeline.state}"


class OperationWaitTimeout(DuetimeError, TimeoutError):
    """The wait is over and the operation is not; it goes on, and can be waited for again."""

    def __init__(self, operation: OperationView) -> None:
        super().__init__(operation)
        self.operation = operation

    def __str__(self) -> str:
        return f"the operation {self.operation.id!r} is not over yet but {self.operation.state}"


#: Which class a status is; a name below says it more exactly.
BY_STATUS: Mapping[int, type[ApiError]] = MappingProxyType(
    {
        400: Malformed,
        401: Unauthorized,
        403: Forbidden,
        404: NotFound,
        408: Unavailable,
        409: Conflict,
        412: Conflict,
        413: TooLarge,
        414: TooLarge,
        415: Malformed,
        422: InvalidField,
        429: RateLimited,
        431: TooLarge,
        502: Unavailable,
        503: Unavailable,
        504: Unavailable,
    }
)

#: By the name of the problem: the last part of its `type`.
BY_NAME: Mapping[str, type[ApiError]] = MappingProxyType(
    {
        "id-in-use": IdInUse,
        "wrong-state": WrongState,
        "idempotency-key-reused": KeyReused,
        "unreachable": Unreachable,
    }
)

#: How a final state that is no success is raised.
BY_STATE: Mapping[State, type[JobNotSucceeded]] = MappingProxyType(
    {
        State.FAILED: JobFailed,
        State.CANCELLED: JobWasCancelled,
        State.EXPIRED: JobExpired,
        State.SKIPPED: JobWasSkipped,
    }
)


def api_error(problem: ProblemView, retry_after: timedelta | None = None) -> ApiError:
    """The exception for a problem document."""
    found = BY_NAME.get(problem.name) or BY_STATUS.get(problem.status, ApiError)
    return found(problem, retry_after)


def problem_error(status: int, name: str, title: str, detail: str, **members: Any) -> ApiError:
    """The exception for what the API would say, found out on this side."""
    told = {"type": PROBLEM_TYPE + name, "title": title, "status": status, "detail": detail, **members}
    return api_error(ProblemView.model_validate(told))


def invalid_field(faults: Sequence[Fault]) -> ApiError:
    """`InvalidField` with these faults."""
    return problem_error(422, "invalid", "Invalid field", one_line(faults), errors=list(faults))


def too_large(detail: str) -> ApiError:
    """`TooLarge`."""
    return problem_error(413, "too-large", "Too large", detail)


def result_of(job: JobView) -> Any:
    """What the handler of a final job returned; a `JobNotSucceeded` when it ended otherwise."""
    if job.state is State.SUCCEEDED:
        return job.result
    if job.state not in BY_STATE:
        raise WaitTimeout(job)
    raise BY_STATE[job.state](job.id, job.state, job.error, job.attempts)
