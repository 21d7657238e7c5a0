"""`/v1/pipelines`: submit, read, follow, cancel and redrive jobs that are ordered by their needs."""

import asyncio
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Response

from api.jobs.idempotency import key_of
from api.pipelines.drawing import graph_of
from api.pipelines.filters import PipelineQuery
from api.pipelines.formats import MERMAID, SVG, TEXT, Format, choose
from api.pipelines.manager import Pipelines, pipelines_of
from api.problems import problem_responses
from api.routes.batch import BatchRoute
from api.routes.events import EventStream
from api.routes.jobs import LONGEST_WAIT, Wait
from api.routes.pipeline_examples import (
    GRAPH_EXAMPLE,
    PICTURE_EXAMPLE,
    PIPELINE_EVENTS_EXAMPLE,
    PIPELINE_EXAMPLES,
    PIPELINE_PAGE_EXAMPLE,
)
from api.routes.submitting import idempotency_header, submission_responses, tell
from api.security.caller import WhoCalls
from api.security.gate import Charge
from api.security.scopes import Scope, needs
from duetime.contracts.pipeline_requests import PipelineRedriveRequest, PipelineSubmission
from duetime.contracts.pipeline_view import PipelinePage, PipelineView
from duetime.contracts.requests import CancelRequest

#: Bodies have the room of a batch.
router = APIRouter(prefix="/v1/pipelines", tags=["pipelines"], route_class=BatchRoute)

Manager = Annotated[Pipelines, Depends(pipelines_of)]
Id = Annotated[str, Path(description="the pipeline's id", max_length=250)]


@router.post(
    "",
    status_code=201,
    summary="Submit a pipeline",
    operation_id="submitPipeline",
    description="The jobs are checked all together before any of them starts: their order, what they take from each "
    "other's results, and each against its kind. The pipeline is durable when it is answered.",
    responses=submission_responses("pipeline", PipelineView),
)
@needs(Scope.SUBMIT)
async def submit(
    submission: Annotated[PipelineSubmission, Body(openapi_examples=PIPELINE_EXAMPLES)],
    request: Request,
    response: Response,
    pipelines: Manager,
    charge: Charge,
    idempotency_key: Annotated[str | None, idempotency_header("pipeline")] = None,
) -> PipelineView:
    key = key_of(request)
    charge(len(submission.jobs) - 1)
    accepted = await pipelines.submitter.submit(submission, key, await request.json() if key else None)
    tell(response, accepted, accepted.view.links.self, pipelines.key_lifetime if key is not None else None)
    return accepted.view


@router.get(
    "",
    summary="List pipelines",
    operation_id="listPipelines",
    description="Open ones first, the newest first; then finished ones, the last first. A page may be short, even "
    "empty, while `next_cursor` goes on: the list ends where it is null.",
    responses={200: {"content": {"application/json": {"example": PIPELINE_PAGE_EXAMPLE}}}},
)
@needs(Scope.READ)
async def list_pipelines(wanted: Annotated[PipelineQuery, Query()], pipelines: Manager) -> PipelinePage:
    return await pipelines.lister.page(wanted, wanted.limit, wanted.cursor)


@router.get(
    "/{pipeline_id}",
    summary="One pipeline with each of its jobs, exact and current",
    operation_id="getPipeline",
    responses=problem_responses(404),
)
@needs(Scope.READ)
async def read(pipeline_id: Id, pipelines: Manager) -> PipelineView:
    return await pipelines.reader.pipeline(pipeline_id)


@router.get(
    "/{pipeline_id}/result",
    summary="Wait for the end of a pipeline",
    operation_id="awaitPipeline",
    responses={
        200: {"description": "Final"},
        202: {"model": PipelineView, "description": "Not final yet"},
        **problem_responses(404),
    },
)
@needs(Scope.READ, holds=True)
async def result(
    pipeline_id: Id, pipelines: Manager, response: Response, wait: Wait = timedelta(0)
) -> PipelineView:
    final, pipeline = await pipelines.reader.finished(pipeline_id, min(wait, LONGEST_WAIT))
    response.status_code = 200 if final else 202
    return pipeline


_STREAM: dict[str, Any] = {
    "description": "The events, until the pipeline is final",
    "content": {"text/event-stream": {"schema": {}, "example": PIPELINE_EVENTS_EXAMPLE}},
}


@router.get(
    "/{pipeline_id}/events",
    summary="Follow a pipeline",
    operation_id="followPipeline",
    description="Server-Sent Events: `state` with the pipeline's summary and the state of each job, `done` with the "
    "whole pipeline. The first one comes at once. `Last-Event-ID` leaves out what was seen; after `done` it is "
    "answered `204`, upon which browsers do not come back.",
    response_class=Response,
    responses={
        200: _STREAM,
        204: {"description": "Nothing more comes: the pipeline is final, and its `done` was seen"},
        **problem_responses(404),
    },
)
@needs(Scope.READ, holds=True)
async def events(
    pipeline_id: Id,
    pipelines: Manager,
    caller: WhoCalls,
    last_event_id: Annotated[str | None, Header(description="the `id` of the last event seen")] = None,
) -> Response:
    listener = await pipelines.events.listen(pipeline_id, caller)
    if listener.has_seen_the_end(last_event_id):
        listener.close()
        return Response(status_code=204)
    return EventStream(listener, last_event_id)


@router.get(
    "/{pipeline_id}/graph",
    summary="A pipeline drawn, with the states of its jobs",
    operation_id="drawPipeline",
    description="Text for Mermaid (`text/plain`, or `application/vnd.mermaid`) or a picture (`image/svg+xml`), as "
    "`format` says, else as `Accept` prefers.",
    response_class=Response,
    responses={
        200: {
            "description": "The graph; jobs from left to right in the order of their needs",
            "content": {
                TEXT.media_type: {"schema": {"type": "string"}, "example": GRAPH_EXAMPLE},
                MERMAID.media_type: {"schema": {"type": "string"}, "example": GRAPH_EXAMPLE},
                SVG.media_type: {"schema": {"type": "string"}, "example": PICTURE_EXAMPLE},
            },
        },
        **problem_responses(404, 406),
    },
)
@needs(Scope.READ)
async def graph(
    pipeline_id: Id,
    pipelines: Manager,
    request: Request,
    format: Annotated[Format | None, Query(description="instead of what `Accept` prefers")] = None,
) -> Response:
    form = choose(format, request.headers.get("accept"))
    pipeline = await pipelines.reader.pipeline(pipeline_id)
    # Thousands of jobs take a moment to lay out, and others call meanwhile.
    drawn = await asyncio.to_thread(form.draw, graph_of(pipeline))
    # A picture is a document to browsers: this one can do and fetch nothing.
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    told = {"Vary": "Accept", "Content-Security-Policy": policy}
    return Response(drawn, media_type=f"{form.media_type}; charset=utf-8", headers=told)


@router.post(
    "/{pipeline_id}:cancel",
    status_code=202,
    summary="Cancel what of a pipeline is not finished",
    operation_id="cancelPipeline",
    responses={202: {"description": "Cancelled, or its jobs are told"}, **problem_responses(404, 409)},
)
@needs(Scope.OPERATE)
async def cancel(pipeline_id: Id, pipelines: Manager, how: CancelRequest | None = None) -> PipelineView:
    return await pipelines.controller.cancel(pipeline_id, how or CancelRequest())


@router.post(
    "/{pipeline_id}:retry",
    summary="Run what failed again, and what was skipped because of it",
    operation_id="redrivePipeline",
    description="What succeeded keeps its result. Two calls at once make one run.",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def redrive(
    pipeline_id: Id, pipelines: Manager, how: PipelineRedriveRequest | None = None
) -> PipelineView:
    return await pipelines.redriver.redrive(pipeline_id, how or PipelineRedriveRequest())
