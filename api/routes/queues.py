"""`/v1/queues`: what waits in each queue, who serves it, and pause, resume, rate, concurrency."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from api.patience import in_time
from api.problems import Problem
from api.queues.control import said_by
from api.queues.manager import Queues, queues_of
from api.security.caller import WhoCalls
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.job import Queue
from duetime.contracts.queues import (
    ConcurrencyRequest,
    PauseRequest,
    QueueList,
    QueueView,
    RateRequest,
    ResumeRequest,
)

router = APIRouter(prefix="/v1/queues", tags=["queues"], route_class=StrictRoute)

Manager = Annotated[Queues, Depends(queues_of)]


async def _allowed(name: Annotated[Queue, Path(description="the queue's name")], caller: WhoCalls) -> str:
    """The name of a queue that the caller may see whole."""
    if caller.kinds is not None or (caller.queues is not None and name not in caller.queues):
        detail = (
            "this covers every kind on the queue, and your key is bound to other queues, or to some kinds"
        )
        raise Problem(403, "not-allowed", "Not allowed", detail)
    return name


Name = Annotated[str, Depends(_allowed)]


@router.get("", summary="All queues")
@needs(Scope.READ, covers_all=True)
async def list_queues(queues: Manager) -> QueueList:
    return await queues.all()


@router.get(
    "/{name}",
    summary="One queue, now",
    description="A queue is whatever is named: one that nobody has used yet is empty, and says that nobody polls it.",
)
@needs(Scope.READ)
async def read_queue(name: Name, queues: Manager) -> QueueView:
    return await queues.one(name)


@router.post(
    "/{name}:pause",
    summary="Hand out nothing of a queue",
)
@needs(Scope.OPERATE)
async def pause_queue(name: Name, why: PauseRequest, queues: Manager, caller: WhoCalls) -> QueueView:
    async with in_time():
        await queues.control.pause(name, why, who=said_by(why.by, caller))
        return await queues.one(name)


@router.post(
    "/{name}:resume",
    summary="Hand out work of a queue again",
)
@needs(Scope.OPERATE)
async def resume_queue(
    name: Name, queues: Manager, caller: WhoCalls, who: ResumeRequest | None = None
) -> QueueView:
    async with in_time():
        await queues.control.resume(name, who=said_by(who.by if who else None, caller))
        return await queues.one(name)


@router.put(
    "/{name}/rate",
    summary="How fast a queue hands out work",
)
@needs(Scope.OPERATE)
async def set_queue_rate(name: Name, wanted: RateRequest, queues: Manager, caller: WhoCalls) -> QueueView:
    async with in_time():
        await queues.control.limit(name, wanted, who=said_by(wanted.by, caller))
        return await queues.one(name)


@router.put(
    "/{name}/concurrency",
    summary="How many jobs of a queue run at once",
    description="Counts attempts that are under way on all workers together. What runs already goes on, uncounted.",
)
@needs(Scope.OPERATE)
async def set_queue_concurrency(
    name: Name, wanted: ConcurrencyRequest, queues: Manager, caller: WhoCalls
) -> QueueView:
    async with in_time():
        await queues.control.limit_concurrency(name, wanted, who=said_by(wanted.by, caller))
        return await queues.one(name)


@router.delete("/{name}/concurrency", summary="As many jobs of a queue at once as its workers take")
@needs(Scope.OPERATE)
async def lift_queue_concurrency(name: Name, queues: Manager, caller: WhoCalls) -> QueueView:
    async with in_time():
        await queues.control.lift_concurrency(name, who=said_by(None, caller))
        return await queues.one(name)
