"""The kind `noop`: accepts any payload, does nothing, succeeds. For trying out everything around it."""

from pydantic import BaseModel, ConfigDict

from activities.context import JobContext


class NoopRequest(BaseModel):
    """Anything: a schedule or a pipeline can be tried out with the payload that it will have in earnest."""

    model_config = ConfigDict(extra="allow")


async def noop(request: NoopRequest, job: JobContext) -> dict[str, object]:
    """Succeeds at once with an empty result."""
    return {}
