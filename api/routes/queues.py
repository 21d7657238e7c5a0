"""`/v1/queues`: what waits in each queue, who serves it, and pause, resume, rate."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from api.patience import in_time
from api.problems import problem_responses
from api.queues.control import PauseRequest, RateRequest, ResumeRequest
from api.queues.manager import Queues, queues_of
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.job import Queue
from duetime.contracts.queues import QueueList, QueueView

router = APIRouter(prefix="/v1/queues", tags=["queues"], route_class=StrictRoute)

Manager = Annotated[Queues, Depends(queues_of)]
Name = Annotated[Queue, Path(description="the queue's name")]


@router.get("", summary="All queues", operation_id="listQueues", responses=problem_responses(503))
@needs(Scope.READ, covers_all=True)
async def list_queues(queues: Manager) -> QueueList:
    return await queues.all()


@router.get(
    "/{name}",
    summary="One queue, now",
    description="A queue is whatever is named: one that nobody has used yet is empty, and says that nobody polls it.",
    operation_id="getQueue",
    responses=problem_responses(422, 503),
)
@needs(Scope.READ, covers_all=True)
async def read(name: Name, queues: Manager) -> QueueView:
    return await queues.one(name)


@router.post(
    "/{name}:pause",
    summary="Hand out nothing of a queue",
    operation_id="pauseQueue",
    responses=problem_responses(400, 413, 415, 422, 503),
)
@needs(Scope.OPERATE, covers_all=True)
async def pause(name: Name, why: PauseRequest, queues: Manager) -> QueueView:
    async with in_time():
        await queues.control.pause(name, why)
        return await queues.one(name)


@router.post(
    "/{name}:resume",
    summary="Hand out work of a queue again",
    operation_id="resumeQueue",
    responses=problem_responses(400, 413, 415, 422, 503),
)
@needs(Scope.OPERATE, covers_all=True)
async def resume(name: Name, queues: Manager, who: ResumeRequest | None = None) -> QueueView:
    async with in_time():
        await queues.control.resume(name, who or ResumeRequest())
        return await queues.one(name)


@router.put(
    "/{name}/rate",
    summary="How fast a queue hands out work",
    operation_id="setQueueRate",
    responses=problem_responses(400, 413, 415, 422, 503),
)
@needs(Scope.OPERATE, covers_all=True)
async def rate(name: Name, wanted: RateRequest, queues: Manager) -> QueueView:
    async with in_time():
        await queues.control.limit(name, wanted)
        return await queues.one(name)
