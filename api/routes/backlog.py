"""`GET /v1/backlog`: all open jobs, each in one place."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from api.jobs.filters import refuse_unknown
from api.problems import problem_responses
from api.queues.manager import Queues, queues_of
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.queues import BacklogView

router = APIRouter(prefix="/v1/backlog", tags=["queues"], route_class=StrictRoute)

Manager = Annotated[Queues, Depends(queues_of)]


class BacklogQuery(BaseModel):
    """The parameters."""

    by: Literal["queue", "kind", "fairness_key"] = Field("queue", description="what jobs are grouped by")


def _only_known(request: Request) -> None:
    refuse_unknown(request, BacklogQuery)


@router.get(
    "",
    summary="Open jobs by where they are",
    operation_id="getBacklog",
    dependencies=[Depends(_only_known)],
    responses=problem_responses(422, 503),
)
@needs(Scope.READ, covers_all=True)
async def backlog(wanted: Annotated[BacklogQuery, Query()], queues: Manager) -> BacklogView:
    return await queues.backlog(wanted.by)
