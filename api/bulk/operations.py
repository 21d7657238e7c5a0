"""Operations on many jobs: asked for, read, run, stopped. All of it is one workflow each; this only talks to it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, ListWorkflowExecutionsRequest
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from api.bulk.cursor import read_cursor, write_cursor
from api.bulk.plans import check_size
from api.bulk.views import Asked, Known, view_of
from api.jobs.idempotency import hashes, other_body
from api.jobs.index import Index
from api.jobs.query import all_of
from api.patience import in_time
from api.problems import Problem, invalid, is_unknown_id, unknown
from api.queues.control import said_by
from api.security.caller import ANYBODY, Caller, WhoCalls
from duetime.contracts.bulk import ASKED, OPERATION, OPERATION_ID, STANDING, OperationState, Plan, Standing
from duetime.contracts.ids import id_of_key, new_id
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.operations import OperationList, OperationView, RunRequest, StopOperationRequest
from workflows.bulk import RUN, STOP

#: Seconds in which an answer waits for what it was asked for; then it tells how far that is.
_SETTLING = 3.0
_LOOK = 0.05


@dataclass(frozen=True)
class Asking:
    """`replayed` that the key brought back an operation that was there."""

    operation: OperationView
    replayed: bool = False


@dataclass(frozen=True)
class Operations:
    """Operations as one caller sees them."""

    client: Client
    ui_url: str
    caller: Caller = ANYBODY

    def seen_by(self, caller: Caller) -> "Operations":
        """The same for another caller."""
        return replace(self, caller=caller)

    @in_time()
    async def begin(self, plan: Plan, said: dict[str, Any], key: str | None, body: Any) -> Asking:
        """Starts the operation; with a key, only if that did not start it before."""
        index = Index(self.client).seen_by(self.caller)
        plan = plan.model_copy(update={"query": all_of(plan.query, *index.bounds)})
        wanted = hashes(key, body) if key is not None else {}
        operation_id = OPERATION_ID + (id_of_key(key) if key is not None else new_id(datetime.now(UTC)))
        if key is not None and (there := await self._find(operation_id)):
            return await self._replayed(there, wanted)
        check_size(await index.count(plan.query), plan)
        standing = Standing(
            action=plan.action, filter=said, dry_run=plan.dry_run, rate=plan.rate, canary=plan.canary
        )
        asked = Asked.of(self.caller, said_by(None, self.caller), wanted)
        try:
            await self.client.start_workflow(
                OPERATION,
                plan.compact(),
                id=operation_id,
                task_queue=ORCHESTRATION_QUEUE,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo={STANDING: standing.compact(), ASKED: asked.model_dump(mode="json")},
                static_summary=f"{plan.action} many jobs",
            )
        except WorkflowAlreadyStartedError:
            return await self._replayed(await self._known(operation_id), wanted)
        if plan.dry_run:
            return Asking(await self._settled(operation_id, _is_frozen))
        return Asking(await self.one(operation_id))

    async def _replayed(self, there: Known, wanted: dict[str, str]) -> Asking:
        if not there.asked.is_for(self.caller) or there.asked.key != wanted:
            raise other_body()
        return Asking(self._view(there), replayed=True)

    @in_time()
    async def one(self, operation_id: str) -> OperationView:
        """The operation; a `404` problem for what is none, or not for this caller."""
        return self._view(await self._known(operation_id))

    @in_time()
    async def all(self, limit: int, cursor: str | None) -> OperationList:
        """Operations under way, then those that ended, the last first."""
        answer = await self.client.workflow_service.list_workflow_executions(
            ListWorkflowExecutionsRequest(
                namespace=self.client.namespace,
                query=f"WorkflowType = '{OPERATION}' AND ExecutionStatus != 'ContinuedAsNew'",
                page_size=limit,
                next_page_token=read_cursor(cursor, self.client.namespace) if cursor is not None else b"",
            ),
            retry=True,
        )
        found = [await Known.of(self.client, info) for info in answer.executions]
        then = answer.next_page_token
        return OperationList(
            operations=[self._view(known) for known in found if known.asked.is_for(self.caller)],
            next_cursor=write_cursor(then, self.client.namespace) if then else None,
        )

    @in_time()
    async def run(self, operation_id: str, how: RunRequest) -> OperationView:
        """Carries out what a dry run kept; a `409` problem for what is not `frozen`."""
        known = await self._known(operation_id)
        if known.standing.state is not OperationState.FROZEN:
            raise self._refused(known, "only a dry run that is frozen can be run")
        if how.canary is not None and known.standing.action != "retry":
            message = "is for redrives: a cancelled job neither succeeds nor fails"
            raise invalid([{"pointer": "/canary", "message": message}])
        if how.rate is not None:
            check_size(known.standing.total, Plan.model_validate(_with_rate(how.rate)))
        await self._signal(known, RUN, how.model_dump(mode="json", exclude_none=True))
        return await self._settled(operation_id, lambda now: now.standing.state is not OperationState.FROZEN)

    @in_time()
    async def stop(self, operation_id: str, why: StopOperationRequest) -> OperationView:
        """Leaves alone whose turn has not come; a `409` problem when it is over."""
        known = await self._known(operation_id)
        if known.is_over:
            if known.standing.state is OperationState.STOPPED:
                return self._view(known)
            raise self._refused(known, "it is over")
        by = said_by(None, self.caller)
        await self._signal(known, STOP, f"{why.reason} ({by})" if why.reason else f"stopped by {by}")
        return await self._settled(operation_id, lambda now: now.is_over)

    async def _signal(self, known: Known, name: str, argument: Any) -> None:
        try:
            await self.client.get_workflow_handle(known.id).signal(name, argument)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise self._refused(await self._known(known.id), "it is over") from None
            raise

    async def _settled(self, operation_id: str, holds: Callable[[Known], bool]) -> OperationView:
        """The operation once `holds`, or as it is after a while."""
        until = time.monotonic() + _SETTLING
        while True:
            known = await self._known(operation_id)
            if holds(known) or time.monotonic() > until:
                return self._view(known)
            await asyncio.sleep(_LOOK)

    async def _known(self, operation_id: str) -> Known:
        found = await self._find(operation_id)
        if found is None or not found.asked.is_for(self.caller):
            raise unknown(f"no operation has the id {operation_id[:250]!r}")
        return found

    async def _find(self, operation_id: str) -> Known | None:
        """The operation, whoever may see it."""
        try:
            described = await self.client.workflow_service.describe_workflow_execution(
                DescribeWorkflowExecutionRequest(
                    namespace=self.client.namespace, execution=WorkflowExecution(workflow_id=operation_id)
                ),
                retry=True,
            )
        except RPCError as error:
            if is_unknown_id(error):
                return None
            raise
        info = described.workflow_execution_info
        return await Known.of(self.client, info) if info.type.name == OPERATION else None

    def _view(self, known: Known) -> OperationView:
        return view_of(known, self.ui_url.rstrip("/"), self.client.namespace)

    def _refused(self, known: Known, why: str) -> Problem:
        state = known.standing.state
        detail = f"the operation is {state}: {why}"
        return Problem(409, "wrong-state", "Not in this state", detail, extra={"state": state})


def _is_frozen(known: Known) -> bool:
    return known.standing.state is not OperationState.FREEZING


def _with_rate(rate: float) -> dict[str, Any]:
    return {"$duetime": 1, "action": "retry", "query": "", "rate": rate}


async def operations_of(request: Request, caller: WhoCalls) -> Operations:
    """The operations of the app that serves this request, as its caller sees them."""
    found = request.app.state.operations
    assert isinstance(found, Operations)
    return found.seen_by(caller)
