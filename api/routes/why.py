"""`GET /v1/jobs/{id}/why`: why a job is not running, and what to do about it."""

from typing import Annotated

from fastapi import APIRouter, Depends

from api.jobs.manager import Jobs, jobs_of
from api.problems import problem_responses
from api.queues.manager import Queues, queues_of
from api.routes.jobs import Id
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.why import WhyView

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute)


@router.get(
    "/{job_id}/why",
    summary="Why a job is not running",
    description="The reasons that hold now, the facts behind each, when that changes by itself, and what to do.",
    responses=problem_responses(404),
)
@needs(Scope.READ)
async def why(
    job_id: Id, jobs: Annotated[Jobs, Depends(jobs_of)], queues: Annotated[Queues, Depends(queues_of)]
) -> WhyView:
    return await queues.explainer.why(job_id, jobs.reader)
