"""A schedule as it is sent: a recurring rule, what it does when runs meet or are missed, and the job or
the pipeline that each run is."""

from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, field_validator, model_validator

from duetime.contracts import limits
from duetime.contracts.job import Contract, JobId, JobSpec, Span, between, plain_text
from duetime.contracts.json_value import JsonValueError, check_json
from duetime.contracts.rule import RuleFields
from duetime.contracts.schedule_pipeline import PipelineTemplate

#: What happens when a time comes while a run of the schedule is still open.
Overlap = Literal["skip", "queue_one", "queue_all", "allow", "cancel_running", "terminate_running"]
ScheduleId = JobId

_NOT_OF_A_TEMPLATE = {
    "id": "a schedule names its jobs itself: leave it out",
    "run_at": "the rule says when: leave it out",
    "delay": "the rule says when: leave it out, or use `jitter`",
    "timezone": "the time zone of the rule stands beside `cron`: leave it out here",
    "after": "jobs of a schedule come after no others: leave it out",
    "on_conflict": "`overlap` says what happens when a run is still open: leave it out",
    "reuse_id": "a schedule names its jobs itself: leave it out",
    "notify": "notifications are not available yet",
}


def _without_time(schema: dict[str, Any]) -> None:
    for name in _NOT_OF_A_TEMPLATE:
        schema["properties"].pop(name, None)


class JobTemplate(JobSpec):
    """The job that every run of a schedule is: a submission without its id and its time."""

    model_config = ConfigDict(json_schema_extra=_without_time)

    @model_validator(mode="before")
    @classmethod
    def _only_what_repeats(cls, value: Any) -> Any:
        for name, why in _NOT_OF_A_TEMPLATE.items():
            if isinstance(value, dict) and name in value:
                raise JsonValueError(f"/{name}", why)
        return value

    @field_validator("payload")
    @classmethod
    def _exact(cls, payload: dict[str, Any]) -> dict[str, Any]:
        check_json(payload, limits.PAYLOAD_BYTES)
        return payload


class CatchUp(Contract):
    """What becomes of times that came while the service was down: those younger than `window` run all, in order; only
    the latest; or none."""

    window: Annotated[Span, between(limits.SHORTEST_CATCH_UP, limits.LONGEST_CATCH_UP)] = timedelta(hours=1)
    policy: Literal["all", "latest", "none"] = "all"


class ScheduleSpec(RuleFields):
    """A schedule as it is put: when it fires, how its runs get on with each other, and the job or the
    pipeline that each run is.

    >>> ScheduleSpec.model_validate({"cron": "0 2 * * *", "job": {"kind": "report.build"}}).overlap
    'skip'
    """

    jitter: Annotated[Span, between(timedelta(0), limits.LONGEST_JITTER)] = timedelta(0)
    jitter_mode: Literal["random", "stable"] = Field(
        "random",
        description="another offset for each time, or always the same one, chosen by the schedule's id",
    )
    overlap: Overlap = Field("skip", description="when a time comes while a run is still open")
    catch_up: CatchUp = CatchUp()
    max_runs: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_RUNS)] | None = None
    paused: bool = Field(False, strict=True)
    note: Annotated[str, StringConstraints(max_length=limits.NOTE_LENGTH)] = ""
    pause_on_failure: bool = Field(False, strict=True)
    job: JobTemplate | None = None
    pipeline: PipelineTemplate | None = Field(None, description="in place of `job`")

    @field_validator("note")
    @classmethod
    def _printable(cls, note: str) -> str:
        return plain_text(note)

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.job is None and self.pipeline is None:
            raise JsonValueError("/job", "is required, or a `pipeline` in its place")
        if self.job is not None and self.pipeline is not None:
            raise JsonValueError("/pipeline", "each run is a job or a pipeline: leave one of them out")
        return self

    @model_validator(mode="after")
    def _watched(self) -> Self:
        if self.pause_on_failure and self.overlap == "allow":
            raise JsonValueError(
                "/pause_on_failure",
                "runs that may overlap are not watched for failures: choose another `overlap`",
            )
        return self
