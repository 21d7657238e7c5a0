"""`/healthz` and `/readyz`: is this process alive, and can it do its work. For everyone: probes have no keys."""

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

from api.patience import answer_in_time
from api.problems import problem_responses
from api.security.scopes import public
from api.strict import StrictRoute


class ProbeRoute(StrictRoute):
    """Load balancers add parameters of their own to a probe."""

    refuses_unknown = False


router = APIRouter(tags=["health"], route_class=ProbeRoute)


class Health(BaseModel):
    """A word."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "alive"}]})

    status: str


class Readiness(Health):
    """`access` is `keys`, or `open` when whoever reaches the API may do everything."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ready", "access": "keys"}]})

    access: Literal["keys", "open"]


@router.get("/healthz", summary="Alive", operation_id="getHealth")
@public
async def healthz() -> Health:
    return Health(status="alive")


@router.get(
    "/readyz",
    summary="Ready: Temporal answers",
    operation_id="getReadiness",
    responses=problem_responses(503),
)
@public
async def readyz(request: Request) -> Readiness:
    client = request.app.state.client
    # Not the server's own health check: the namespace must be there too, and open to us.
    await answer_in_time(
        client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    )
    return Readiness(status="ready", access=request.app.state.gate.lock.access)
