"""`GET /v1/jobs` and `GET /v1/jobs:count`: jobs by what they are and how they stand."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from api.jobs.filters import JobFilter
from api.jobs.manager import Jobs, jobs_of
from api.problems import problem_responses
from api.routes.list_examples import COUNTS_EXAMPLE, PAGE_EXAMPLE
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts import limits
from duetime.contracts.view import JobCounts, JobPage

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=StrictRoute)

Manager = Annotated[Jobs, Depends(jobs_of)]


class ListQuery(JobFilter):
    """The parameters of a list."""

    limit: Annotated[int, Field(ge=1, le=limits.PAGE_JOBS, description="jobs on a page, at most")] = 50
    cursor: str | None = Field(
        None, max_length=4096, description="`next_cursor` of the page before, with the same filter"
    )


class CountQuery(JobFilter):
    """The parameters of a count."""

    by: Literal["state", "error"] | None = Field(
        None, description="counts for each state; or of failed and expired jobs for each type of error"
    )


@router.get(
    "/jobs",
    summary="List jobs",
    description="Open jobs first, the newest first; then finished ones, the last first. A page may be short, even "
    "empty, while `next_cursor` goes on: the list ends where it is null.",
    responses={
        200: {"content": {"application/json": {"example": PAGE_EXAMPLE}}},
        **problem_responses(422, 503),
    },
)
@needs(Scope.READ)
async def list_jobs(wanted: Annotated[ListQuery, Query()], jobs: Manager) -> JobPage:
    return await jobs.lister.page(wanted, wanted.limit, wanted.cursor)


@router.get(
    "/jobs:count",
    summary="Count jobs",
    responses={
        200: {"content": {"application/json": {"example": COUNTS_EXAMPLE}}},
        **problem_responses(422, 503),
    },
)
@needs(Scope.READ)
async def count_jobs(wanted: Annotated[CountQuery, Query()], jobs: Manager) -> JobCounts:
    if wanted.by == "error":
        return await jobs.errors.count(wanted)
    return await jobs.counting.count(wanted, wanted.by is not None)
