"""`/healthz` and `/readyz`: is this process alive, and can it do its work."""

from fastapi import APIRouter, Request
from pydantic import BaseModel
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

from api.patience import answer_in_time
from api.problems import problem_responses

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """A word."""

    status: str


@router.get("/healthz", summary="Alive", operation_id="getHealth")
async def healthz() -> Health:
    return Health(status="alive")


@router.get(
    "/readyz",
    summary="Ready: Temporal answers",
    operation_id="getReadiness",
    responses=problem_responses(503),
)
async def readyz(request: Request) -> Health:
    client = request.app.state.client
    # Not the server's own health check: the namespace must be there too, and open to us.
    await answer_in_time(
        client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    )
    return Health(status="ready")
