"""`GET /metrics`: what Prometheus reads, in its text format or in OpenMetrics, whichever it asks for."""

import logging
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from temporalio.service import RPCError

from api.observe.counters import REGISTRY
from api.observe.gauges import Gauges
from api.observe.schedules import ScheduleMetrics
from api.patience import answer_in_time
from api.problems import Problem
from api.queues.board import Sight
from api.queues.manager import Queues, queues_of
from api.schedules.figures import Tally
from api.schedules.manager import Schedules, schedules_of
from api.security.scopes import Scope, needs
from api.strict import StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)
log = logging.getLogger("duetime.api")

#: Seconds: however often it is asked for, a look is taken no more often than this. That at the queues has to tell of a
#: worker that died within ten.
_FRESH_QUEUES, _FRESH_SCHEDULES = 2.5, 10.0


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=PlainTextResponse,
    responses={200: {"description": "The text format of Prometheus, or OpenMetrics"}},
)
@needs(Scope.READ, covers_all=True)
async def metrics(
    request: Request,
    queues: Annotated[Queues, Depends(queues_of)],
    schedules: Annotated[Schedules, Depends(schedules_of)],
) -> Response:
    both = CollectorRegistry()
    sight = await _look(queues)
    both.register(Gauges(sight))
    tally = await _tally(schedules) if sight is not None else None
    if tally is not None:
        both.register(ScheduleMetrics(tally))
    both.register(REGISTRY)
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(both), media_type=content_type)


async def _look(queues: Queues) -> Sight | None:
    try:
        return await answer_in_time(queues.board.all(_FRESH_QUEUES))
    except (RPCError, Problem, RuntimeError) as error:
        log.warning("the metrics have no backlog, Temporal does not tell: %s", error)
        return None


async def _tally(schedules: Schedules) -> Tally | None:
    try:
        return await answer_in_time(schedules.tally.get(_FRESH_SCHEDULES))
    except (RPCError, Problem, RuntimeError) as error:
        log.warning("the metrics have no schedules, Temporal does not tell: %s", error)
        return None
