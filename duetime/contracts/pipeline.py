"""A pipeline as it is submitted: over HTTP, or as the one argument of workflow type `Pipeline`.

Jobs and what each of them needs form a directed acyclic graph. `pipeline_rules` says what makes a graph valid beyond
the types of its fields, `references` how results travel from job to job.
"""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from duetime.contracts import limits
from duetime.contracts.duration import format_duration
from duetime.contracts.job import Contract, JobId, JobSpec, Span
from duetime.contracts.json_value import JsonValueError
from duetime.contracts.references import RESULT

#: The workflow types of a pipeline, and of one of its jobs that runs once for each item of a list.
PIPELINE, FAN_OUT = "Pipeline", "FanOut"

_NOT_HERE = {
    "id": "is made of the pipeline's id and the job's name: leave it out",
    "on_conflict": "belongs to a job of its own: a pipeline has one job of each name",
    "reuse_id": "belongs to a job of its own: a pipeline has one job of each name",
    "notify": "notifications are not available yet",
}

JobName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.PIPELINE_JOB_NAME, pattern=r"^[A-Za-z0-9_\-]+$"),
]
Parallel = Annotated[int, Field(strict=True, ge=1, le=limits.PIPELINE_PARALLEL)]


class When(StrEnum):
    """On what ends of the jobs that it needs a job runs.

    A need counts as failed when it failed, expired, was cancelled, or was skipped because of such an end. One that was
    skipped because its own condition did not hold has neither succeeded nor failed.
    """

    #: All have succeeded. The default.
    ALL_SUCCEEDED = "all_succeeded"
    #: All have come to an end, whichever, unless the pipeline itself was cancelled or expired.
    ALL_FINISHED = "all_finished"
    #: One has failed: an alarm. Runs as soon as that is known, also when the pipeline stops or expires.
    ANY_FAILED = "any_failed"
    #: One has succeeded. Runs as soon as that is known.
    ANY_SUCCEEDED = "any_succeeded"
    #: All have come to an end, whichever, and also when the pipeline is cancelled or expires: cleaning up.
    ALWAYS = "always"


class OnFailure(StrEnum):
    """What the failure of one job means for those that do not need it."""

    #: Nothing: whatever can still run does.
    CONTINUE = "continue"
    #: Jobs that wait for successes do not begin any more, and those under way are cancelled. What reacts to failures
    #: (`any_failed`, `all_finished`, `always`) still runs.
    STOP = "stop"


def _span(longest: timedelta) -> AfterValidator:
    def check(span: timedelta) -> timedelta:
        if not limits.SHORTEST_TIMEOUT <= span <= longest:
            shortest = format_duration(limits.SHORTEST_TIMEOUT)
            raise ValueError(f"must be from {shortest} to {format_duration(longest)}")
        return span

    return AfterValidator(check)


class PipelineJob(JobSpec):
    """One job of a pipeline: a job with everything that a submission gives it, and its place in the graph.

    Its clocks (`delay`, `deadline`, `queue_timeout`) begin when what it needs has ended. `after` names jobs outside of
    the pipeline.
    """

    needs: list[JobName] = Field(
        [], max_length=limits.PIPELINE_JOBS, description="names of jobs that come before this one"
    )
    when: When = When.ALL_SUCCEEDED
    for_each: list[Any] | dict[str, Any] | None = Field(
        None,
        description='run once for each item of this list: `{"$result": "name.path"}`, or the list itself; '
        '`{"$item": ""}` in the payload is the item, `{"$item": "path"}` a part of it',
        examples=[{"$result": "extract.files"}],
    )
    max_parallel: Parallel | None = Field(
        None, description="items under way at once, with `for_each`; the pipeline's own when left out"
    )

    @model_validator(mode="before")
    @classmethod
    def _not_here(cls, value: Any) -> Any:
        for name, why in _NOT_HERE.items():
            if isinstance(value, dict) and name in value:
                raise JsonValueError(f"/{name}", why)
        return value

    @model_validator(mode="after")
    def _makes_sense(self) -> "PipelineJob":
        if self.for_each is None and self.max_parallel is not None:
            raise JsonValueError("/max_parallel", "only goes with `for_each`")
        if isinstance(self.for_each, dict) and set(self.for_each) != {RESULT}:
            raise JsonValueError("/for_each", 'must be a list, or {"$result": "name.path"}')
        return self

    def job(self, payload: dict[str, Any]) -> JobSpec:
        """The job alone, with what its references came to."""
        fields = {name: getattr(self, name) for name in self.model_fields_set if name in JobSpec.model_fields}
        fields["payload"] = payload
        return JobSpec.model_construct(_fields_set=set(fields), **fields)


def _some(jobs: dict[str, PipelineJob]) -> dict[str, PipelineJob]:
    if not jobs:
        raise ValueError("a pipeline has one job at least")
    return jobs


class PipelineSpec(Contract):
    """A pipeline as submitted. Only `jobs` is required.

    >>> spec = {"jobs": {"a": {"kind": "noop"}, "b": {"kind": "noop", "needs": ["a"]}}}
    >>> PipelineSpec.model_validate(spec).jobs["b"].when.value
    'all_succeeded'
    """

    id: JobId | None = None
    jobs: Annotated[dict[JobName, PipelineJob], Field(max_length=limits.PIPELINE_JOBS), AfterValidator(_some)]
    max_parallel: Parallel = Field(
        limits.PIPELINE_PARALLEL,
        description="jobs under way at once; one with `for_each` counts as one, and bounds its items itself",
    )
    on_failure: OnFailure = OnFailure.CONTINUE
    deadline: Annotated[Span, _span(limits.LONGEST_CLOCK)] | None = Field(
        None, description="from its start until when it must have ended, but for jobs that `always` run"
    )

    def compact(self) -> dict[str, Any]:
        """JSON of what differs from the defaults: a pipeline's input in its history."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"id"})


def job_id(pipeline_id: str, name: str, index: int | None = None) -> str:
    """The id of a job of a pipeline, or of one of its items."""
    return f"{pipeline_id}~{name}" if index is None else f"{pipeline_id}~{name}~{index}"


def part_id(fan_out_id: str, part: int) -> str:
    """The id of a part of a job with very many items: a letter in it, so that it is no item's."""
    return f"{fan_out_id}~p{part}"
