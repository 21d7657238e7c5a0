"""Freezing: one page of the jobs that an operation is about becomes a set that changes no more.

A set is the input of a workflow that does nothing but wait for the end of the operation: as durable as a job, out of
the way of the operation's own history, and made once however often this is tried. When its maker died after making it,
the next try finds it and answers with what it says.
"""

import asyncio
import base64
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from pydantic import Field
from temporalio import activity
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.bulk.finding import Found, newest, page
from duetime.contracts.bulk import (
    JOB_SET,
    LONGEST,
    LOOKED_AT,
    SET_JOBS,
    TOLD,
    ErrorGroup,
    Frozen,
    JobRef,
    merged,
)
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.record import Part, cut
from duetime.contracts.states import State
from duetime.jobs.facts import error_of, fetch, started_with
from duetime.jobs.state import state_of

Value = TypeVar("Value")

#: The name of the activity.
FREEZE = "duetime.bulk-freeze"

_AT_ONCE = 16
#: Of an error's message, so much is told.
_MESSAGE = 200
#: A set outlives the longest operation and the look before it, and then goes even if nobody lets it go.
_LIFE = LONGEST + timedelta(days=15)


class FreezeRequest(Part):
    """Which page of which operation: `number` is that of the set, `token` where the page begins."""

    operation: str
    number: int
    query: str
    states: list[State] = Field(default_factory=list)
    token: str = ""
    looked_at: int = 0
    #: Whether the errors of failed jobs are wanted.
    errors: bool = False


def set_id(operation: str, number: int) -> str:
    """The workflow that keeps a set."""
    return f"{operation}~{number}"


async def read_set(client: Client, operation: str, number: int) -> tuple[list[JobRef], Frozen]:
    """The jobs of a set in their order, and what was told of it."""
    inputs = await started_with(client, set_id(operation, number))
    kept = inputs[0] if inputs else {}
    jobs = [JobRef(id=job_id, run_id=run_id) for job_id, run_id in kept.get("jobs", [])]
    return jobs, Frozen.model_validate(kept.get("told", {}))


class Freezer:
    """Finds jobs; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=FREEZE)
    async def freeze(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next set as a `Frozen`. `then` is empty after the last; a page that holds nothing makes no set."""
        wanted = FreezeRequest.model_validate(request)
        found, then = await page(
            self._client, wanted.query, SET_JOBS, base64.b64decode(wanted.token.encode())
        )
        activity.heartbeat()
        kept = await newest(self._client, found)
        if wanted.states:
            kept = await self._in_states(kept, frozenset(wanted.states))
        activity.heartbeat()
        looked = kept[: max(0, LOOKED_AT - wanted.looked_at)] if wanted.errors else []
        frozen = Frozen(
            count=len(kept),
            sample=[
                JobRef(id=run.id, run_id=run.run_id, kind=run.kind, queue=run.queue) for run in kept[:TOLD]
            ],
            errors=await self._errors(looked),
            looked_at=len(looked),
            then=base64.b64encode(then).decode(),
        )
        return (await self._keep(wanted, kept, frozen) if kept else frozen).model_dump(mode="json")

    async def _keep(self, wanted: FreezeRequest, runs: Sequence[Found], frozen: Frozen) -> Frozen:
        told = frozen.model_dump(mode="json")
        try:
            await self._client.start_workflow(
                JOB_SET,
                {"jobs": [[run.id, run.run_id] for run in runs], "told": told},
                id=set_id(wanted.operation, wanted.number),
                task_queue=ORCHESTRATION_QUEUE,
                execution_timeout=_LIFE,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                static_summary=f"{len(runs)} jobs of an operation",
            )
        except WorkflowAlreadyStartedError:
            _, frozen = await read_set(self._client, wanted.operation, wanted.number)
        return frozen

    async def _in_states(self, runs: Sequence[Found], states: frozenset[State]) -> list[Found]:
        """Those that are in one of these states now, each by a look."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def fits(run: Found) -> bool:
            async with places:
                facts = await _gone(fetch(self._client, run.id, run.run_id))
                activity.heartbeat()
            return facts is not None and state_of(facts, datetime.now(UTC)) in states

        fit = await asyncio.gather(*(fits(run) for run in runs))
        return [run for run, fits_ in zip(runs, fit, strict=True) if fits_]

    async def _errors(self, runs: Sequence[Found]) -> list[ErrorGroup]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def error(run: Found) -> list[ErrorGroup]:
            async with places:
                found = await _gone(error_of(self._client, run.id, run.run_id))
                activity.heartbeat()
            if found is None:
                return []
            return [
                ErrorGroup(type=found.type, count=1, example=run.id, message=cut(found.message, _MESSAGE))
            ]

        groups: list[ErrorGroup] = []
        for found in await asyncio.gather(*(error(run) for run in runs)):
            groups = merged(groups, found)
        return groups


async def _gone(look: Coroutine[Any, Any, Value]) -> Value | None:
    """What `look` gives, or nothing when the server does not keep the job any more."""
    try:
        return await look
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
