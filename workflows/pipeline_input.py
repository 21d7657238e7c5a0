"""What a pipeline's workflow is told: the pipeline, and by an earlier run of it what is done already."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, Field, ValidationError
from temporalio.common import RawValue, TypedSearchAttributes
from temporalio.exceptions import ApplicationError
from temporalio.workflow import Info

from duetime import attributes
from duetime.contracts import limits
from duetime.contracts.explain import one_line
from duetime.contracts.job import JobSpec, Span
from duetime.contracts.json_value import sendable
from duetime.contracts.pipeline import PipelineSpec
from duetime.contracts.pipeline_rules import BadPipeline, read_pipeline
from duetime.contracts.pipeline_state import Halt, Mark, Progress
from duetime.contracts.record import Error, Part, cut
from duetime.contracts.states import ErrorType
from duetime.graph import kept
from duetime.occurrence import occurrence_of
from workflows.raw import plain


class Origin(Part):
    """Where a pipeline comes from, the same for all its jobs."""

    pipeline_id: str
    #: The run that began it: idempotency keys are made of it, and so outlive retries.
    run_id: str
    schedule_id: str | None = None
    nominal_time: AwareDatetime | None = None

    def attributes_of(self, job: JobSpec, due_at: datetime) -> TypedSearchAttributes:
        """The search attributes of one of its jobs."""
        return attributes.of_job(
            job,
            due_at,
            nominal_time=self.nominal_time,
            pipeline_id=self.pipeline_id,
            schedule_id=self.schedule_id,
        )

    def compact(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


class PipelineCarry(Part):
    """State handed from one run of the workflow to the next, as its second argument."""

    #: Tells it from whatever else somebody gives as a second argument.
    protocol: Literal[1] = Field(1, alias="$duetime")
    #: Final marks, in the order of the input; what is not final waits.
    marks: str = ""
    halt: Halt | None = None
    reason: str | None = None
    deadline_at: AwareDatetime | None = None
    #: From the start of the workflow until anything begins: the stable jitter of its schedule.
    delay: Span | None = None
    faults: dict[str, Error] = Field(default_factory=dict)
    origin: Origin | None = None
    #: Whether jobs may have executions of an earlier run, which was ended.
    retried: bool = False
    #: That run, and the jobs that were under way when it was: one of them may have succeeded all the same.
    ended_run_id: str | None = None
    begun: list[str] = Field(default_factory=list)

    def compact(self) -> dict[str, Any]:
        """As JSON without defaults."""
        return {"$duetime": 1} | self.model_dump(mode="json", exclude_defaults=True, exclude={"protocol"})


def retry_carry(
    spec: PipelineSpec,
    progress: Progress,
    earlier: PipelineCarry,
    pipeline_id: str,
    first_run_id: str,
    run_id: str | None = None,
) -> PipelineCarry:
    """What a retry of an ended pipeline is given: whatever it need not run again, and where it comes from.

    `progress` and `earlier` are the memo and the second argument of the ended run `run_id`; `first_run_id` is the first
    of its chain.
    """
    names = list(spec.jobs)
    before = progress.by_name(names)
    stay = kept(spec, before)
    origin = earlier.origin or Origin(
        pipeline_id=pipeline_id,
        run_id=first_run_id,
        schedule_id=progress.schedule_id,
        nominal_time=progress.nominal_time,
    )
    marks = "".join(stay.get(name, Mark.WAITING) for name in names)
    return PipelineCarry.model_validate(
        {
            "$duetime": 1,
            "marks": marks,
            "origin": origin,
            "retried": True,
            "ended_run_id": run_id,
            "begun": [name for name, mark in before.items() if mark is Mark.BEGUN],
        }
    )


def read_pipeline_input(arguments: Sequence[RawValue], info: Info) -> tuple[PipelineSpec, PipelineCarry]:
    """The pipeline in the workflow's one argument, and what an earlier run left; `BadPipeline` for anything else."""
    if not 1 <= len(arguments) <= 2:
        raise _bad('give it as the one argument, as {"jobs": {"first": {"kind": "noop"}}}')
    spec = read_pipeline(_plain(arguments[0]), info.workflow_id)
    if spec.id is not None and spec.id != info.workflow_id:
        raise _bad(f"is {spec.id!r}, but the workflow's id is {info.workflow_id!r}: leave it out", "/id")
    if len(arguments) == 1:
        return spec, PipelineCarry()
    try:
        return spec, PipelineCarry.model_validate({"$duetime": None} | _plain(arguments[1]))
    except (ValidationError, TypeError):
        raise _bad("give it as the one argument; the second one is Duetime's own") from None


def _plain(argument: RawValue) -> Any:
    try:
        return plain(argument)
    except ValueError as error:
        raise _bad(str(error)) from None


def _bad(message: str, pointer: str = "") -> BadPipeline:
    return BadPipeline([{"pointer": pointer, "message": message}])


def bad_pipeline(error: Exception) -> ApplicationError:
    """Short whatever was given: a failure that the server finds too large would be tried for ever."""
    told = one_line(error.faults, "the pipeline") if isinstance(error, BadPipeline) else str(error)
    message = cut(sendable(told), limits.ERROR_MESSAGE_LENGTH)
    return ApplicationError(message, type=ErrorType.INVALID_PIPELINE, non_retryable=True)


def origin_of(carry: PipelineCarry, info: Info) -> Origin:
    """Where this pipeline comes from. A schedule says so by attributes of what it starts, and by its id."""
    if carry.origin is not None:
        return carry.origin
    occurrence = occurrence_of(info.workflow_id)
    told = info.typed_search_attributes
    nominal: datetime | None = told.get(attributes.NOMINAL_TIME)
    schedule = told.get(attributes.SCHEDULE_ID)
    return Origin(
        pipeline_id=info.workflow_id,
        run_id=info.first_execution_run_id,
        schedule_id=schedule or (occurrence.schedule_id if occurrence else None),
        nominal_time=occurrence.nominal_time if occurrence else nominal,
    )
