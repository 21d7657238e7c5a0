"""`/v1/schedules`: keep schedules, and operate them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Response

from api.patience import in_time
from api.problems import invalid, problem_responses
from api.queues.control import said_by
from api.routes.schedule_examples import SPEC_EXAMPLES
from api.schedules.listing import Wanted, page
from api.schedules.manager import Schedules, schedules_of
from api.schedules.views import etag
from api.security.caller import WhoCalls
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts import limits
from duetime.contracts.instants import parse_instant
from duetime.contracts.schedule import ScheduleId, ScheduleSpec
from duetime.contracts.schedule_requests import (
    ScheduleBackfill,
    SchedulePause,
    ScheduleResume,
    ScheduleSkip,
    ScheduleTrigger,
)
from duetime.contracts.schedule_view import (
    BackfillAnswer,
    OccurrencePage,
    SchedulePage,
    ScheduleState,
    ScheduleView,
    Triggered,
)

router = APIRouter(prefix="/v1/schedules", tags=["schedules"], route_class=StrictRoute)

Manager = Annotated[Schedules, Depends(schedules_of)]
NewId = Annotated[ScheduleId, Path(description="the schedule's id")]
Id = Annotated[str, Path(description="the schedule's id", max_length=250)]
Nominal = Annotated[
    str, Path(description="the nominal time, RFC 3339", max_length=64, examples=["2027-01-15T09:00:00Z"])
]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", description="the `ETag` that the schedule must have")
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="`*`: the schedule must not be there")
]
_RFC3339 = "RFC 3339 with an offset"

_ETAG = {"ETag": {"description": "the revision, for `If-Match`", "schema": {"type": "string"}}}
_DAY = timedelta(days=1)


@router.get("", summary="Schedules, by id", operation_id="listSchedules")
@needs(Scope.READ)
async def list_schedules(
    schedules: Manager,
    state: Annotated[ScheduleState | None, Query(description="where it stands")] = None,
    paused: Annotated[bool | None, Query(description="whether it is paused")] = None,
    kind: Annotated[
        str | None, Query(max_length=limits.KIND_LENGTH, description="its jobs are of this kind")
    ] = None,
    queue: Annotated[
        str | None, Query(max_length=limits.QUEUE_LENGTH, description="its jobs go to this queue")
    ] = None,
    tag: Annotated[
        str | None, Query(max_length=limits.TAG_LENGTH, description="its jobs have this tag")
    ] = None,
    limit: Annotated[
        int, Query(ge=1, le=limits.PAGE_SCHEDULES, description="schedules on a page, at most")
    ] = 50,
    cursor: Annotated[
        str | None, Query(max_length=400, description="`next_cursor` of the page before")
    ] = None,
) -> SchedulePage:
    return await page(schedules.reader, Wanted(state, paused, kind, queue, tag), limit, cursor)


@router.put(
    "/{schedule_id}",
    summary="Create or replace a schedule",
    operation_id="putSchedule",
    responses={
        200: {"description": "Replaced, or as it was: the same content changes nothing", "headers": _ETAG},
        201: {"model": ScheduleView, "description": "Created", "headers": _ETAG},
        **problem_responses(409),
    },
)
@needs(Scope.OPERATE)
async def put_schedule(
    schedule_id: NewId,
    spec: Annotated[ScheduleSpec, Body(openapi_examples=SPEC_EXAMPLES)],
    request: Request,
    response: Response,
    schedules: Manager,
    caller: WhoCalls,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> ScheduleView:
    async with in_time():
        expect = _expected(if_match, if_none_match)
        given, by = await request.json(), said_by(None, caller)
        done = await schedules.commander.put(schedule_id, spec, given, expect, by)
        view = await schedules.reader.view(schedule_id)
    response.status_code = 201 if done.created else 200
    response.headers["Location"] = view.links.self
    response.headers["ETag"] = etag(view.revision)
    return view.model_copy(update={"warnings": done.warnings})


@router.get(
    "/{schedule_id}",
    summary="One schedule, now",
    operation_id="getSchedule",
    responses={200: {"headers": _ETAG}, **problem_responses(404)},
)
@needs(Scope.READ)
async def read_schedule(schedule_id: Id, schedules: Manager, response: Response) -> ScheduleView:
    view = await schedules.reader.view(schedule_id)
    response.headers["ETag"] = etag(view.revision)
    return view


@router.delete(
    "/{schedule_id}",
    status_code=204,
    summary="Delete a schedule; runs that are open go on",
    operation_id="deleteSchedule",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def delete_schedule(schedule_id: Id, schedules: Manager, if_match: IfMatch = None) -> None:
    async with in_time():
        await schedules.reader.book(schedule_id)
        await schedules.commander.tell(schedule_id, "delete", _expected(if_match, None))


@router.post(
    "/{schedule_id}:pause",
    summary="Start no runs by the rule",
    operation_id="pauseSchedule",
    responses=problem_responses(404),
)
@needs(Scope.OPERATE)
async def pause_schedule(
    schedule_id: Id, why: SchedulePause, schedules: Manager, caller: WhoCalls
) -> ScheduleView:
    async with in_time():
        await schedules.operator.pause(schedule_id, why, said_by(why.by, caller))
        return await schedules.reader.view(schedule_id)


@router.post(
    "/{schedule_id}:resume",
    summary="Start runs by the rule again",
    operation_id="resumeSchedule",
    responses=problem_responses(404),
)
@needs(Scope.OPERATE)
async def resume_schedule(
    schedule_id: Id, schedules: Manager, caller: WhoCalls, how: ScheduleResume | None = None
) -> ScheduleView:
    how = how or ScheduleResume()
    async with in_time():
        await schedules.operator.resume(schedule_id, how, said_by(how.by, caller))
        return await schedules.reader.view(schedule_id)


@router.post(
    "/{schedule_id}:trigger",
    status_code=202,
    summary="A run now, beside the rule",
    operation_id="triggerSchedule",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def trigger_schedule(
    schedule_id: Id, schedules: Manager, caller: WhoCalls, how: ScheduleTrigger | None = None
) -> Triggered:
    how = how or ScheduleTrigger()
    async with in_time():
        return await schedules.operator.trigger(schedule_id, how, said_by(how.by, caller))


@router.post(
    "/{schedule_id}:backfill",
    status_code=202,
    summary="Run times of the past",
    operation_id="backfillSchedule",
    responses=problem_responses(404),
)
@needs(Scope.OPERATE)
async def backfill_schedule(
    schedule_id: Id, wanted: ScheduleBackfill, schedules: Manager, caller: WhoCalls
) -> BackfillAnswer:
    async with in_time():
        return await schedules.operator.backfill(schedule_id, wanted, said_by(wanted.by, caller))


@router.get(
    "/{schedule_id}/occurrences",
    summary="Every time of the rule in a span, and what became of it",
    description="Without bounds: from a day ago to a day ahead. At most 1,000 rows; `next_from` goes on.",
    operation_id="listOccurrences",
    responses=problem_responses(404),
)
@needs(Scope.READ)
async def list_occurrences(
    schedule_id: Id,
    schedules: Manager,
    begin: Annotated[str | None, Query(alias="from", max_length=64, description=_RFC3339)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=64, description=_RFC3339)] = None,
) -> OccurrencePage:
    now = datetime.now(UTC)
    since = _moment("from", begin) or now - _DAY
    until = _moment("to", end) or max(now, since) + _DAY
    if until < since:
        raise invalid([{"pointer": "query to", "message": "is before `from`"}])
    return await schedules.reader.occurrences(schedule_id, since, until)


@router.post(
    "/{schedule_id}/occurrences/{nominal}:skip",
    summary="Leave out one time to come",
    operation_id="skipOccurrence",
    responses=problem_responses(404, 409),
)
@needs(Scope.OPERATE)
async def skip_occurrence(
    schedule_id: Id,
    nominal: Nominal,
    schedules: Manager,
    caller: WhoCalls,
    why: ScheduleSkip | None = None,
) -> ScheduleView:
    why = why or ScheduleSkip()
    async with in_time():
        await schedules.operator.skip(schedule_id, nominal, why, said_by(why.by, caller))
        return await schedules.reader.view(schedule_id)


def _expected(if_match: str | None, if_none_match: str | None) -> int | None:
    """The revision that must be there, 0 for none; `None` when the caller does not mind."""
    if if_none_match is not None:
        if if_none_match.strip() != "*":
            raise invalid([{"pointer": "header If-None-Match", "message": 'only "*" means something here'}])
        return 0
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'"(\d{1,9})"', if_match.strip(), re.ASCII)
    if found is None:
        message = 'is no ETag of a schedule, such as "3"'
        raise invalid([{"pointer": "header If-Match", "message": message}])
    return int(found[1])


def _moment(name: str, text: str | None) -> datetime | None:
    try:
        return parse_instant(text) if text is not None else None
    except ValueError as error:
        raise invalid([{"pointer": f"query {name}", "message": str(error)}]) from None
