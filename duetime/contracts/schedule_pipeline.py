"""The pipeline that every run of a schedule is: one as it is submitted, without what only one run can have."""

from typing import Any, Self

from pydantic import ConfigDict, model_validator

from duetime.contracts import limits
from duetime.contracts.json_value import JsonTooLarge, JsonValueError, check_json
from duetime.contracts.pipeline import PipelineSpec

_NOT_OF_A_TEMPLATE = {
    "id": "a schedule names its pipelines itself: leave it out",
    "on_conflict": "`overlap` says what happens when a run is still open: leave it out",
    "reuse_id": "a schedule names its pipelines itself: leave it out",
}
_NOT_OF_ITS_JOBS = {
    "run_at": "the rule says when: leave it out, or use `delay`, which counts from when the job's turn has come",
    "timezone": "the time zone of the rule stands beside `cron`: leave it out here",
    "after": "jobs of a schedule come after no others than those in `needs`: leave it out",
}


def _without_id(schema: dict[str, Any]) -> None:
    schema["properties"].pop("id", None)


class PipelineTemplate(PipelineSpec):
    """The pipeline that every run of a schedule is: a submission without its id, and jobs without a time of their own.

    At most 256 KiB of compact JSON: unlike a pipeline that is submitted, it is read whenever its schedule is.
    """

    model_config = ConfigDict(json_schema_extra=_without_id)

    @model_validator(mode="before")
    @classmethod
    def _only_what_repeats(cls, value: Any) -> Any:
        for name, why in _NOT_OF_A_TEMPLATE.items():
            if isinstance(value, dict) and name in value:
                raise JsonValueError(f"/{name}", why)
        return value

    @model_validator(mode="after")
    def _can_repeat(self) -> Self:
        for name, job in self.jobs.items():
            for field, why in _NOT_OF_ITS_JOBS.items():
                if field in job.model_fields_set:
                    raise JsonValueError(f"/jobs/{name}/{field}", why)
        check_template(self)
        return self


def check_template(pipeline: PipelineSpec) -> None:
    """Passes for one that a schedule can keep; `JsonValueError` otherwise."""
    try:
        check_json(pipeline.compact(), limits.SCHEDULED_PIPELINE_BYTES, depth=limits.JSON_DEPTH + 5)
    except JsonTooLarge as error:
        way_out = "have a job of the schedule submit it, or store the data elsewhere"
        raise JsonValueError("", f"a schedule's pipeline has {error}: {way_out}") from None
