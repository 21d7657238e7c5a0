"""Commands on one job: move, run now, cancel. Each reads the state first and says it when it is too late."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from temporalio.api.activity.v1 import ActivityOptions
from temporalio.api.common.v1 import Priority, RetryPolicy, WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetActivityRequest, UpdateActivityOptionsRequest
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from api.jobs.reading import Reader
from api.observe.counters import job_ended
from api.patience import in_time, time_left
from api.problems import Problem, invalid, unavailable
from duetime.contracts.requests import CancelRequest, Patch
from duetime.contracts.states import State
from duetime.contracts.view import JobView
from duetime.jobs.cancel import stop
from duetime.jobs.facts import Dispatched, Facts
from duetime.jobs.state import state_of

_WHO = "duetime-api"
#: Seconds left to answer with, when no orchestrator answered.
MARGIN = 0.3


class Controller:
    """Carries commands to the workflow, the activity, or the server itself, whichever can act now."""

    def __init__(self, client: Client, reader: Reader) -> None:
        self._client = client
        self._reader = reader

    def reading_with(self, reader: Reader) -> "Controller":
        """The same for whoever `reader` reads for."""
        return Controller(self._client, reader)

    @in_time()
    async def patch(self, job_id: str, patch: Patch) -> JobView:
        """Moves a job or changes its priority, while `scheduled` or `queued`."""
        facts, state = await self._look(job_id)
        if state not in (State.SCHEDULED, State.QUEUED):
            raise _too_late(self._reader.view(facts), "can be changed only while scheduled or queued")
        try:
            change = patch.change()
        except ValueError as error:
            pointer = "/run_at" if patch.run_at is not None else "/delay"
            raise invalid([{"pointer": pointer, "message": str(error)}]) from None
        await self._update(facts, "move", change)
        if patch.priority is not None and facts.dispatched is not None and "run_at" not in change:
            await self._reprioritise(facts, facts.dispatched, patch.priority)
        return await self._reader.job(job_id)

    @in_time()
    async def run_now(self, job_id: str) -> JobView:
        """Starts a `scheduled` job, or the next attempt of a `retrying` one."""
        facts, state = await self._look(job_id)
        if state not in (State.SCHEDULED, State.RETRYING):
            raise _too_late(self._reader.view(facts), "can be started early only while scheduled or retrying")
        if facts.dispatched is not None:
            await self._hurry(facts, facts.dispatched)
        else:
            await self._update(facts, "run_now")
        return await self._reader.job(job_id)

    @in_time()
    async def cancel(self, job_id: str, request: CancelRequest) -> JobView:
        """Cancels. What no attempt holds ends at once, by the server alone; a running handler is told."""
        facts, state = await self._look(job_id)
        try:
            if facts.is_open:
                await self._stop(facts, request)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            facts, state = await self._look(job_id)  # it ended by itself meanwhile
        if not facts.is_open and state is not State.CANCELLED:
            raise _too_late(self._reader.view(facts), "is final and cannot be cancelled")
        return await self._reader.job(job_id)

    async def _look(self, job_id: str) -> tuple[Facts, State]:
        facts = await self._reader.facts(job_id)
        return facts, state_of(facts, datetime.now(UTC))

    async def _stop(self, facts: Facts, request: CancelRequest) -> None:
        if await stop(self._client, facts, request) and facts.spec is not None:
            job_ended(facts.spec.kind, facts.spec.queue, State.CANCELLED)

    async def _update(self, facts: Facts, name: str, *arguments: Any) -> None:
        """Asks the workflow; it must answer in time, which takes an orchestration worker that lives."""
        handle = self._handle(facts)
        try:
            async with asyncio.timeout(time_left() - MARGIN):
                await handle.execute_update(name, args=list(arguments))
        except WorkflowUpdateFailedError:
            raise _too_late(await self._reader.job(facts.id), "has moved on meanwhile") from None
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            raise no_orchestrator() from None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise _too_late(await self._reader.job(facts.id), "has ended meanwhile") from None
            raise

    async def _hurry(self, facts: Facts, dispatched: Dispatched) -> None:
        """Ends the back-off of a retry; the heartbeat details, and with them the record, stay."""
        reset = ResetActivityRequest(
            namespace=self._client.namespace,
            execution=self._execution(facts),
            id=dispatched.activity_id,
            identity=_WHO,
        )
        try:
            await self._client.workflow_service.reset_activity(reset)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise _too_late(await self._reader.job(facts.id), "has moved on meanwhile") from None
            raise
        # The server counts from one again, and a handler that does not count itself would get more than it had left.
        left = dispatched.maximum_attempts - (dispatched.server_attempt - 1)
        retry = RetryPolicy(maximum_attempts=max(1, left))
        await self._change_activity(
            facts, dispatched, ActivityOptions(retry_policy=retry), "retry_policy.maximum_attempts"
        )

    async def _reprioritise(self, facts: Facts, dispatched: Dispatched, priority: int) -> None:
        options = ActivityOptions(priority=Priority(priority_key=priority))
        await self._change_activity(facts, dispatched, options, "priority.priority_key")

    async def _change_activity(
        self, facts: Facts, dispatched: Dispatched, options: ActivityOptions, path: str
    ) -> None:
        """Changes one option of the activity under way; one that has ended meanwhile needs it no more."""
        change = UpdateActivityOptionsRequest(
            namespace=self._client.namespace,
            execution=self._execution(facts),
            id=dispatched.activity_id,
            identity=_WHO,
            activity_options=options,
            update_mask=FieldMask(paths=[path]),
        )
        try:
            await self._client.workflow_service.update_activity_options(change)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise

    def _handle(self, facts: Facts) -> WorkflowHandle[Any, Any]:
        return self._client.get_workflow_handle(facts.id, run_id=facts.run_id)

    @staticmethod
    def _execution(facts: Facts) -> WorkflowExecution:
        return WorkflowExecution(workflow_id=facts.id, run_id=facts.run_id)


def _too_late(job: JobView, what: str) -> Problem:
    return Problem(
        409,
        "wrong-state",
        "Not in this state",
        f"the job is {job.state}; it {what}",
        extra={"state": job.state, "job": job.model_dump(mode="json")},
    )


def no_orchestrator(way_out: str = "") -> Problem:
    """`503`: this takes a worker for the workflows. `way_out` is what works without."""
    return unavailable(
        "no worker answers on the queue of the workflows; start one (`python worker.py`) and repeat the call"
        f"{way_out}",
        "no_orchestrator",
        retry_after=5,
    )
