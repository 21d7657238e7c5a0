"""What passes between a job and a concurrency limit, carried by local activities: one event of history for each.

A signal of the server is delivered once it is acknowledged, so that neither side has to wait for the other. Each call
may be made twice: whoever hears it knows that.
"""

import asyncio
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.concurrency import (
    ASK,
    LEAVE,
    LIMIT,
    LIMIT_MEMO,
    PLACE,
    Ask,
    Left,
    Place,
    chain_of,
    scope_of,
)
from duetime.contracts.instants import EPOCH
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.record import VIEW, View
from duetime.queue_concurrency import queue_concurrency

#: The names of the activities.
ASK_PLACE, ASK_QUEUE_PLACE = "duetime.ask-place", "duetime.ask-queue-place"
LEAVE_PLACE = "duetime.leave-place"
GRANT_PLACES, LOOK_AT_HOLDERS = "duetime.grant-places", "duetime.look-at-holders"

#: What a look at a job that has a place finds: its attempt is under way, or was over at that moment, or it has ended.
HOLDS, IDLE, GONE = "holds", "idle", "gone"

_AT_ONCE = 20
#: Nobody is there to be told. (`INVALID_ARGUMENT`: a run that takes no more signals.)
_NOBODY = (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT)


class LimitPlaces:
    """Carries what jobs and limits say to each other; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=ASK_PLACE)
    async def ask(self, limit_id: str, asked: dict[str, Any]) -> bool:
        """Asks for a place; starts the limit if nobody needed it for a while. Always true: there is one to ask."""
        await self._ask(limit_id, Ask.model_validate(asked))
        return True

    @activity.defn(name=ASK_QUEUE_PLACE)
    async def ask_queue(self, limit_id: str, asked: dict[str, Any]) -> bool:
        """The same under the limit of a queue, as it is set now; `False` when there is none."""
        found = await queue_concurrency(self._client, scope_of(limit_id)[1])
        if found is None:
            return False
        said = {"limit": found.limit, "limit_at": (found.since - EPOCH) // timedelta(milliseconds=1)}
        await self._ask(limit_id, Ask.model_validate(asked | said))
        return True

    async def _ask(self, limit_id: str, ask: Ask) -> None:
        scope, name = scope_of(limit_id)
        await self._client.start_workflow(
            LIMIT,
            id=limit_id,
            task_queue=ORCHESTRATION_QUEUE,
            start_signal=ASK,
            start_signal_args=[ask.model_dump(mode="json")],
            memo={LIMIT_MEMO: ask.limit},
            static_summary=f"places of the {scope} {name}",
        )

    @activity.defn(name=LEAVE_PLACE)
    async def leave(self, limit_id: str, left: dict[str, Any]) -> None:
        """Gives a place back, or does not want it any more."""
        await self._tell(limit_id, LEAVE, Left.model_validate(left).model_dump(mode="json"))

    @activity.defn(name=GRANT_PLACES)
    async def grant(self, limit_id: str, places: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Tells jobs that they have a place; those that are not there any more."""
        few = asyncio.Semaphore(_AT_ONCE)

        async def grant(place: dict[str, Any]) -> bool:
            async with few:
                return await self._tell(str(place["job"]), PLACE, {"limit": limit_id, **place})

        told = await asyncio.gather(*(grant(place) for place in places))
        return [place for place, heard in zip(places, told, strict=True) if not heard]

    @activity.defn(name=LOOK_AT_HOLDERS)
    async def look(self, limit_id: str, places: list[dict[str, Any]]) -> list[str]:
        """How each of these jobs, which have a place of this limit, stands: `HOLDS`, `IDLE` or `GONE`."""
        few = asyncio.Semaphore(_AT_ONCE)

        async def look(place: dict[str, Any]) -> str:
            async with few:
                return await self._standing(limit_id, Place.model_validate(place))

        return list(await asyncio.gather(*(look(place) for place in places)))

    async def _standing(self, limit_id: str, place: Place) -> str:
        try:
            described = await self._client.get_workflow_handle(place.job).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return GONE
            raise
        raw = described.raw_description
        first = raw.workflow_execution_info.first_run_id
        # A server that does not tell where the chain of runs began leaves us with the id.
        other = bool(first) and chain_of(first) != place.chain
        if described.status is not WorkflowExecutionStatus.RUNNING or other:
            return GONE
        if raw.HasField("pending_workflow_task"):
            return HOLDS  # It has yet to hear of its place, or to say that it needs it no more.
        if any(found.activity_id.isdigit() for found in raw.pending_activities):
            return HOLDS
        # With a place of this limit it may wait for one of the next.
        return HOLDS if limit_id in _limits((await described.memo()).get(VIEW))[:-1] else IDLE

    async def _tell(self, workflow_id: str, signal: str, told: dict[str, Any]) -> bool:
        """Whether there was somebody to be told."""
        try:
            await self._client.get_workflow_handle(workflow_id).signal(signal, told)
        except RPCError as error:
            if error.status in _NOBODY:
                return False
            raise
        return True


def _limits(view: Any) -> list[str]:
    """The limits that a job has published; none for what somebody else left in the memo."""
    try:
        return View.model_validate(view or {}).limits
    except ValidationError:
        return []
