"""What callers send about pipelines."""

from typing import Any, Literal

from pydantic import Field

from duetime.contracts.job import Contract
from duetime.contracts.pipeline import PipelineSpec


class PipelineSubmission(PipelineSpec):
    """A pipeline to run. Only `jobs` is required."""

    on_conflict: Literal["reject", "return", "replace"] = Field(
        "reject", description="when a pipeline with this `id` is still open"
    )
    reuse_id: bool = Field(False, strict=True, description="take the id of a finished pipeline again")

    def pipeline(self) -> PipelineSpec:
        """The pipeline without what only concerns its submission."""
        fields: dict[str, Any] = {
            name: getattr(self, name) for name in self.model_fields_set if name in PipelineSpec.model_fields
        }
        return PipelineSpec.model_construct(_fields_set=set(fields), **fields)


class PipelineRedriveRequest(Contract):
    """Which run is to be redriven, when several callers may race."""

    run_id: str | None = Field(
        None, max_length=100, description="refuse unless this is the pipeline's newest run"
    )
