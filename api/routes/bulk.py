"""`POST /v1/jobs:retry` and `:cancel`: every job that a filter holds."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request, Response

from api.bulk.operations import Asking, Operations, operations_of
from api.bulk.plans import cancel_plan, redrive_plan
from api.bulk.requests import BulkCancel, BulkRedrive
from api.jobs.idempotency import key_of
from api.problems import problem_responses
from api.routes.submitting import idempotency_header
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.operations import OperationView

router = APIRouter(prefix="/v1", tags=["operations"], route_class=StrictRoute)

Manager = Annotated[Operations, Depends(operations_of)]
OperationKey = Annotated[str | None, idempotency_header("operation")]
_RESPONSES: dict[int | str, dict[str, Any]] = {
    202: {"description": "Kept: the operation goes on by itself. `Location` tells where it is read"},
    **problem_responses(400, 413, 415, 422, 503),
}
_ABOUT = (
    "A durable operation. With `dry_run` it keeps which jobs these are and tells how many and which; "
    "`POST /v1/operations/{id}:run` then carries out exactly that. Repeating the call with an Idempotency-Key is safe."
)


@router.post(
    "/jobs:retry",
    status_code=202,
    summary="Redrive every job that a filter holds",
    description=_ABOUT,
    operation_id="redriveJobs",
    responses=_RESPONSES,
)
@needs(Scope.OPERATE)
async def redrive_jobs(
    wanted: Annotated[BulkRedrive, Body()],
    request: Request,
    response: Response,
    operations: Manager,
    idempotency_key: OperationKey = None,
) -> OperationView:
    plan, key = redrive_plan(wanted), key_of(request)
    return _answered(
        response, await operations.begin(plan, wanted.filter.said(), key, ["retry", await request.json()])
    )


@router.post(
    "/jobs:cancel",
    status_code=202,
    summary="Cancel every job that a filter holds",
    description=_ABOUT,
    operation_id="cancelJobs",
    responses=_RESPONSES,
)
@needs(Scope.OPERATE)
async def cancel_jobs(
    wanted: Annotated[BulkCancel, Body()],
    request: Request,
    response: Response,
    operations: Manager,
    idempotency_key: OperationKey = None,
) -> OperationView:
    plan, key = cancel_plan(wanted), key_of(request)
    return _answered(
        response, await operations.begin(plan, wanted.filter.said(), key, ["cancel", await request.json()])
    )


def _answered(response: Response, asking: Asking) -> OperationView:
    response.headers["Location"] = asking.operation.links.self
    if asking.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return asking.operation
