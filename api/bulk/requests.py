"""What callers send about many jobs: which, by the filters of a list, and what is to become of them."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from api.jobs.filters import JobFilter, States, Tags
from duetime.contracts.bulk import USUAL_RATE, Canary
from duetime.contracts.job import Tag
from duetime.contracts.operations import DryRun, JobsASecond
from duetime.contracts.requests import CancelRequest, RedriveRequest
from duetime.contracts.states import State

_FILTER: Any = {"state": ["failed"], "kind": "report.build"}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Selection(JobFilter):
    """Which jobs; everything given must hold. The same as the parameters of `GET /v1/jobs`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Annotated[States, BeforeValidator(_listed, json_schema_input_type=list[State] | State)] = Field(
        [], description="any of these states; one may stand for a list of one"
    )
    tag: Annotated[Tags, BeforeValidator(_listed, json_schema_input_type=list[Tag] | Tag)] = Field(
        [], description="carries all of these tags; one may stand for a list of one"
    )

    def said(self) -> dict[str, Any]:
        """As the caller gave it."""
        return self.model_dump(mode="json", exclude_unset=True)


class BulkRedrive(RedriveRequest):
    """A redrive of every job that the filter holds. Without a state: of those that failed or expired."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"filter": _FILTER, "dry_run": True}, {"filter": _FILTER, "canary": 3}]
        }
    )

    filter: Selection
    dry_run: DryRun = False
    rate: JobsASecond = USUAL_RATE
    canary: Canary | None = Field(
        None, description="so many must run again and succeed before the others may"
    )


class BulkCancel(CancelRequest):
    """A cancellation of every job that the filter holds. Without a state: of all open ones."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"filter": {"kind": "report.build"}, "reason": "not needed"}]}
    )

    filter: Selection
    dry_run: DryRun = False
    rate: JobsASecond = USUAL_RATE
