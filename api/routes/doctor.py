"""`GET /v1/doctor`: what is not well, and what to do about it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from api.doctor.examination import examine
from api.queues.manager import Queues, queues_of
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.doctor.findings import Report

router = APIRouter(prefix="/v1/doctor", tags=["health"], route_class=StrictRoute)


@router.get(
    "",
    summary="What is not well, and what to do",
    description="Looks at the server, its clock, the namespace, queues, kinds and jobs. Always `200`: what is wrong "
    "is in the answer, with the exit code that a script would end with.",
)
@needs(Scope.READ, covers_all=True)
async def doctor(request: Request, queues: Annotated[Queues, Depends(queues_of)]) -> Report:
    return await examine(request.app.state.client, queues.board)
