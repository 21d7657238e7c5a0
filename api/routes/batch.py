"""`POST /v1/jobs:batch`: many submissions in one call."""

import json
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Header
from fastapi.responses import Response
from pydantic import BaseModel, Field

from api.jobs.batch import Batch
from api.jobs.idempotency import check_key
from api.jobs.manager import Jobs, jobs_of
from api.problems import problem_responses
from api.routes.list_examples import BATCH_ANSWER_EXAMPLE, BATCH_EXAMPLES
from api.security.gate import Charge
from api.security.scopes import Scope, needs
from api.strict import StrictRequest, StrictRoute
from duetime.contracts import limits
from duetime.contracts.problem import ProblemView
from duetime.contracts.view import JobView


class BatchRequest(StrictRequest):
    """A body with room for a batch."""

    limit = limits.BATCH_BYTES


class BatchRoute(StrictRoute):
    """A route that hands its endpoint a `BatchRequest`."""

    request_class = BatchRequest


class BatchItem(BaseModel):
    """What became of one job: `job` with `201` or `200`, `problem` with any other status."""

    status: int
    job: JobView | None = None
    problem: ProblemView | None = None


class BatchAnswer(BaseModel):
    """An answer for each job, in the order of the batch."""

    jobs: list[BatchItem] = Field(max_length=limits.BATCH_JOBS)


router = APIRouter(prefix="/v1", tags=["jobs"], route_class=BatchRoute)


@router.post(
    "/jobs:batch",
    status_code=207,
    summary="Submit up to 1,000 jobs",
    description="Each job is accepted or refused for itself. Repeating a batch is safe when its jobs have ids, or "
    "when it has an Idempotency-Key: the key of each job is then `key/index`. Jobs with the same id are taken in turn.",
    responses={
        207: {
            "model": BatchAnswer,
            "description": "An answer for each job",
            "content": {"application/json": {"example": BATCH_ANSWER_EXAMPLE}},
        },
        **problem_responses(400, 413, 415, 422),
    },
)
@needs(Scope.SUBMIT)
async def submit_batch(
    batch: Annotated[Batch, Body(openapi_examples=BATCH_EXAMPLES)],
    jobs: Annotated[Jobs, Depends(jobs_of)],
    charge: Charge,
    idempotency_key: Annotated[
        str | None, Header(description="1 to 255 characters; the key of each job is `key/index`")
    ] = None,
) -> Response:
    key = check_key(idempotency_key)
    charge(len(batch.jobs) - 1)
    answers = await jobs.batches.submit(batch.jobs, key)
    headers = {"Idempotency-Key-Kept": jobs.key_lifetime} if key is not None else {}
    # In ASCII: a problem quotes what was sent, which may be no Unicode text and must not cost the other answers.
    body = json.dumps({"jobs": [answer.body() for answer in answers]}, allow_nan=False)
    return Response(body, 207, headers, "application/json")
