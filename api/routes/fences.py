"""`/v1/fences`: may an attempt with this token still touch that resource?"""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from api.fences import FenceCheck, Fences, FenceView, fences_of
from api.problems import problem_responses
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.effects.bounds import LONGEST_NAME

router = APIRouter(prefix="/v1/fences", tags=["fences"], route_class=StrictRoute)

Manager = Annotated[Fences, Depends(fences_of)]


@router.post(
    "/{resource:path}:check",
    summary="Claim a resource for an attempt, unless a later one has it",
    operation_id="checkFence",
    responses=problem_responses(400, 412, 413, 415, 422, 503),
)
@needs(Scope.OPERATE, covers_all=True)
async def check_fence(
    resource: Annotated[str, Path(description="any name, up to 512 characters", max_length=LONGEST_NAME)],
    given: FenceCheck,
    fences: Manager,
) -> FenceView:
    return await fences.check(resource, given.token)
