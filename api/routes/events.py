"""`GET /v1/jobs/{id}/events`: follow a job until it is final."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api.jobs.hub import Listener
from api.jobs.manager import Jobs, jobs_of
from api.problems import problem_responses
from api.routes.jobs import Id
from api.routes.list_examples import EVENTS_EXAMPLE
from api.security.caller import WhoCalls
from api.security.scopes import Scope as Demanded
from api.security.scopes import needs
from api.strict import StrictRoute

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute)

_HEADERS = {
    "Cache-Control": "no-store, no-transform",
    # Proxies such as nginx hold answers back otherwise.
    "X-Accel-Buffering": "no",
}
_STREAM: dict[str, Any] = {
    "description": "The events, until the job is final",
    "content": {"text/event-stream": {"schema": {}, "example": EVENTS_EXAMPLE}},
}


class EventStream(StreamingResponse):
    """The stream of one listener, who leaves with it, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, listener: Listener, seen: str | None) -> None:
        super().__init__(listener.events(seen), headers=_HEADERS)
        self._listener = listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._listener.close()


@router.get(
    "/{job_id}/events",
    summary="Follow a job",
    operation_id="followJob",
    description="Server-Sent Events: `state` and `progress` with the job's summary, `done` with the whole job. The "
    "first one comes at once. `Last-Event-ID` leaves out what was seen; after `done` it is answered `204`, upon which "
    "browsers do not come back.",
    response_class=Response,
    responses={
        200: _STREAM,
        204: {"description": "Nothing more comes: the job is final, and its `done` was seen"},
        **problem_responses(404, 503),
    },
)
@needs(Demanded.READ, holds=True)
async def events(
    job_id: Id,
    jobs: Annotated[Jobs, Depends(jobs_of)],
    caller: WhoCalls,
    last_event_id: Annotated[str | None, Header(description="the `id` of the last event seen")] = None,
) -> Response:
    listener = await jobs.events.listen(job_id, caller)
    if listener.has_seen_the_end(last_event_id):
        listener.close()
        return Response(status_code=204)
    return EventStream(listener, last_event_id)
