"""What callers send about jobs."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from duetime.contracts import limits
from duetime.contracts.instants import format_instant
from duetime.contracts.job import Contract, DueTime, JobSpec, Span, between
from duetime.contracts.json_value import JsonValueError, check_json

_NOT_BUILT = {
    "notify": "notifications are not available yet",
}


class Submission(JobSpec):
    """A job to run. Only `kind` is required."""

    on_conflict: Literal["reject", "return", "replace"] = Field(
        "reject", description="when a job with this `id` is still open"
    )
    reuse_id: bool = Field(False, strict=True, description="take the id of a finished job again")

    @model_validator(mode="before")
    @classmethod
    def _not_built(cls, value: Any) -> Any:
        for name, why in _NOT_BUILT.items():
            if isinstance(value, dict) and name in value:
                raise JsonValueError(f"/{name}", why)
        return value

    @field_validator("payload")
    @classmethod
    def _exact(cls, payload: dict[str, Any]) -> dict[str, Any]:
        check_json(payload, limits.PAYLOAD_BYTES)
        return payload

    def job(self) -> JobSpec:
        """The job without what only concerns its submission."""
        fields = {name: getattr(self, name) for name in self.model_fields_set if name in JobSpec.model_fields}
        return JobSpec.model_construct(_fields_set=set(fields), **fields)


class Patch(DueTime):
    """A change of a job that has not begun."""

    priority: Annotated[int, Field(strict=True, ge=limits.PRIORITY[0], le=limits.PRIORITY[1])] | None = None

    @model_validator(mode="after")
    def _something(self) -> "Patch":
        if self.run_at is None and self.delay is None and self.priority is None:
            raise ValueError("nothing to change: give `run_at`, `delay` or `priority`")
        return self

    def change(self) -> dict[str, Any]:
        """As the workflow's update takes it."""
        due = self.moment(datetime.now(UTC))
        wanted = {"run_at": format_instant(due) if due else None, "priority": self.priority}
        return {name: value for name, value in wanted.items() if value is not None}


class CancelRequest(Contract):
    """How to cancel. `graceful` lets a running handler clean up for `grace`, `force` does not wait for it."""

    mode: Literal["graceful", "force"] = "graceful"
    grace: Annotated[Span, between(timedelta(0), timedelta(hours=1))] = timedelta(seconds=30)
    reason: Annotated[str, Field(max_length=500)] | None = None


class RedriveRequest(Contract):
    """How to redrive: where to begin, and which run is meant when several may race."""

    begin: Literal["checkpoint", "start"] = Field(
        "start", alias="from", description="`checkpoint` hands the last checkpoint to the first attempt"
    )
    run_id: str | None = Field(None, max_length=100, description="refuse unless this is the job's newest run")
    force: bool = Field(False, strict=True, description="also when the job has succeeded")
