"""`GET /v1/backlog`: all open jobs, each in one place."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query

from api.queues.manager import Queues, queues_of
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.queues import BacklogView

router = APIRouter(prefix="/v1/backlog", tags=["queues"], route_class=StrictRoute)

Manager = Annotated[Queues, Depends(queues_of)]
By = Annotated[Literal["queue", "kind", "fairness_key"], Query(description="what jobs are grouped by")]


@router.get("", summary="Open jobs by where they are")
@needs(Scope.READ, covers_all=True)
async def backlog(queues: Manager, by: By = "queue") -> BacklogView:
    return await queues.backlog(by)
