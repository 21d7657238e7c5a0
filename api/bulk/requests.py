"""What callers send about many jobs: which, by the filters of a list, and what is to become of them."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from api.jobs.filters import JobFilter
from duetime.contracts.bulk import USUAL_RATE, Canary
from duetime.contracts.operations import DryRun, JobsASecond
from duetime.contracts.requests import CancelRequest, RedriveRequest

_FILTER: Any = {"state": ["failed"], "kind": "report.build"}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Selection(JobFilter):
    """Which jobs; everything given must hold. The same as the parameters of `GET /v1/jobs`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def said(self) -> dict[str, Any]:
        """As the caller gave it."""
        return self.model_dump(mode="json", exclude_unset=True)


Which = Annotated[Selection, BeforeValidator(lambda value: _with_lists(value))]


def _with_lists(value: Any) -> Any:
    """One state or tag may stand for a list of one."""
    if not isinstance(value, dict):
        return value
    return {name: _listed(item) if name in ("state", "tag") else item for name, item in value.items()}


class BulkRedrive(RedriveRequest):
    """A redrive of every job that the filter holds. Without a state: of those that failed or expired."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"filter": _FILTER, "dry_run": True}, {"filter": _FILTER, "canary": 3}]
        }
    )

    filter: Which
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

    filter: Which
    dry_run: DryRun = False
    rate: JobsASecond = USUAL_RATE
