"""`/v1/operations`: operations on many jobs, how they stand, and the words that carry them out or stop them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from api.bulk.operations import Operations, operations_of
from api.problems import problem_responses
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.operations import OperationList, OperationView, RunRequest, StopOperationRequest

router = APIRouter(prefix="/v1/operations", tags=["operations"], route_class=StrictRoute)

Manager = Annotated[Operations, Depends(operations_of)]
Id = Annotated[str, Path(description="the operation's id", max_length=250)]
Limit = Annotated[int, Query(ge=1, le=100, description="operations on a page, at most")]
Cursor = Annotated[str | None, Query(max_length=4096, description="`next_cursor` of the page before")]


@router.get(
    "",
    summary="Operations on many jobs",
    description="Those under way first, then those that ended, the last first. A page may be short while "
    "`next_cursor` goes on.",
)
@needs(Scope.READ)
async def list_operations(operations: Manager, limit: Limit = 20, cursor: Cursor = None) -> OperationList:
    return await operations.all(limit, cursor)


@router.get(
    "/{operation_id}",
    summary="How an operation stands",
    operation_id="getOperation",
    responses=problem_responses(404),
)
@needs(Scope.READ)
async def read_operation(operation_id: Id, operations: Manager) -> OperationView:
    return await operations.one(operation_id)


@router.post(
    "/{operation_id}:run",
    status_code=202,
    summary="Carry out what a dry run kept",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def run_operation(
    operation_id: Id, operations: Manager, how: RunRequest | None = None
) -> OperationView:
    return await operations.run(operation_id, how or RunRequest())


@router.post(
    "/{operation_id}:stop",
    status_code=202,
    summary="Leave alone the jobs that have not had their turn",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def stop_operation(
    operation_id: Id, operations: Manager, why: StopOperationRequest | None = None
) -> OperationView:
    return await operations.stop(operation_id, why or StopOperationRequest())
