"""`/v1/jobs`: submit, read, change and cancel one job."""

import re
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from pydantic import BeforeValidator, WithJsonSchema

from api.jobs.idempotency import key_of
from api.jobs.manager import Jobs, jobs_of
from api.problems import problem_responses
from api.routes.examples import SUBMISSION_EXAMPLES
from api.routes.submitting import idempotency_header, submission_responses, tell
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.duration import parse_duration
from duetime.contracts.job import DURATION_SCHEMA
from duetime.contracts.requests import CancelRequest, Patch, RedriveRequest, Submission
from duetime.contracts.view import JobView

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute)

Manager = Annotated[Jobs, Depends(jobs_of)]
Id = Annotated[str, Path(description="the job's id", max_length=250)]


def _span(text: str) -> timedelta:
    """A duration in a query, where a number of seconds is text like everything else."""
    return parse_duration(float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII) else text)


Wait = Annotated[
    timedelta,
    BeforeValidator(_span),
    WithJsonSchema(DURATION_SCHEMA),
    Query(description="how long to wait for the end; more than 60 s is 60 s"),
]


LONGEST_WAIT = timedelta(seconds=60)


@router.post(
    "",
    status_code=201,
    summary="Submit a job",
    operation_id="submitJob",
    responses=submission_responses("job", JobView),
)
@needs(Scope.SUBMIT)
async def submit(
    submission: Annotated[Submission, Body(openapi_examples=SUBMISSION_EXAMPLES)],
    request: Request,
    response: Response,
    jobs: Manager,
    idempotency_key: Annotated[str | None, idempotency_header("job")] = None,
) -> JobView:
    key = key_of(request)
    accepted = await jobs.submitter.submit(submission, key, await request.json() if key else None)
    tell(response, accepted, accepted.view.links.self, jobs.key_lifetime if key is not None else None)
    return accepted.view


@router.get(
    "/{job_id}",
    summary="One job, exact and current",
    operation_id="getJob",
    responses=problem_responses(404),
)
@needs(Scope.READ)
async def read(job_id: Id, jobs: Manager) -> JobView:
    return await jobs.reader.job(job_id)


@router.get(
    "/{job_id}/result",
    summary="Wait for the end of a job",
    operation_id="awaitJob",
    responses={
        200: {"description": "Final"},
        202: {"model": JobView, "description": "Not final yet"},
        **problem_responses(404),
    },
)
@needs(Scope.READ, holds=True)
async def result(job_id: Id, jobs: Manager, response: Response, wait: Wait = timedelta(0)) -> JobView:
    final, job = await jobs.reader.finished(job_id, min(wait, LONGEST_WAIT))
    response.status_code = 200 if final else 202
    return job


@router.patch(
    "/{job_id}",
    summary="Move a job or change its priority",
    operation_id="changeJob",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def patch(job_id: Id, change: Patch, jobs: Manager) -> JobView:
    return await jobs.controller.patch(job_id, change)


@router.post(
    "/{job_id}:run-now",
    summary="Start a scheduled or retrying job now",
    operation_id="runJobNow",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def run_now(job_id: Id, jobs: Manager) -> JobView:
    return await jobs.controller.run_now(job_id)


@router.post(
    "/{job_id}:cancel",
    status_code=202,
    summary="Cancel a job",
    operation_id="cancelJob",
    responses={202: {"description": "Cancelled, or its handler is told"}, **problem_responses(404, 409)},
)
@needs(Scope.OPERATE)
async def cancel(job_id: Id, jobs: Manager, how: CancelRequest | None = None) -> JobView:
    return await jobs.controller.cancel(job_id, how or CancelRequest())


@router.post(
    "/{job_id}:retry",
    summary="Redrive a final job under the same id",
    operation_id="redriveJob",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def redrive(job_id: Id, jobs: Manager, how: RedriveRequest | None = None) -> JobView:
    return await jobs.redriver.redrive(job_id, how or RedriveRequest())
