"""`/v1/schedules:forecast` and `:apply`: all schedules at once."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request

from api.queues.control import said_by
from api.routes.batch import BatchRoute
from api.routes.schedule_examples import APPLY_EXAMPLES
from api.schedules.manager import Schedules, schedules_of
from api.security.caller import WhoCalls
from api.security.scopes import Scope, needs
from duetime.contracts import limits
from duetime.contracts.forecast import ForecastView
from duetime.contracts.schedule_sets import AppliedView, ScheduleSet

router = APIRouter(prefix="/v1", tags=["schedules"], route_class=BatchRoute)

Manager = Annotated[Schedules, Depends(schedules_of)]
Hours = Annotated[
    int, Query(description="how far to look ahead", ge=1, le=limits.FORECAST_HOURS, examples=[24])
]


@router.get(
    "/schedules:forecast", summary="Starts per minute, and the peaks", operation_id="forecastSchedules"
)
@needs(Scope.READ)
async def forecast_schedules(schedules: Manager, hours: Hours = 24) -> ForecastView:
    """How many jobs all schedules together will start in each minute, and which `H` or jitter would flatten the peaks.

    A start with random jitter counts in parts.
    """
    return await schedules.forecaster.forecast(hours)


@router.post(
    "/schedules:apply", summary="Make the schedules what they should be", operation_id="applySchedules"
)
@needs(Scope.OPERATE, holds=True)
async def apply_schedules(
    wanted: Annotated[ScheduleSet, Body(openapi_examples=APPLY_EXAMPLES)],
    request: Request,
    schedules: Manager,
    caller: WhoCalls,
) -> AppliedView:
    """A list as the desired state. All rules are checked before any schedule is touched; others stay as they are unless
    `prune` is set. Works for ten seconds: while `left` is not empty, repeat the call, which is safe.
    """
    given = (await request.json())["schedules"]
    return await schedules.applier.apply(wanted, given, said_by(None, caller))
