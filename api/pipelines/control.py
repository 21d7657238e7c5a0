"""Cancelling a pipeline: by its workflow, which cleans up, or by the server alone."""

import asyncio
import contextlib

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflow.v1 import PendingChildExecutionInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import (
    Client,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from api.jobs.control import MARGIN, Controller, no_orchestrator
from api.jobs.reading import until_closed
from api.patience import in_time, time_left
from api.pipelines.facts import PipelineFacts
from api.pipelines.reading import PipelineReader
from api.pipelines.state import state_of
from api.problems import Problem, is_unknown_id
from api.together import together
from duetime.contracts.job import JOB
from duetime.contracts.pipeline_state import Halt
from duetime.contracts.pipeline_view import PipelineView
from duetime.contracts.requests import CancelRequest
from duetime.contracts.states import State

_AT_ONCE = 32
#: Seconds in which a workflow answers that some worker looks after, and in which it ends by force.
_ANSWER, _ENDING = 1.5, 2.0


class PipelineController:
    """Carries commands to a pipeline's workflow, or to the server itself."""

    def __init__(self, client: Client, reader: PipelineReader, jobs: Controller) -> None:
        self._client = client
        self._reader = reader
        self._jobs = jobs

    def reading_with(self, reader: PipelineReader, jobs: Controller) -> "PipelineController":
        """The same for whoever `reader` reads for."""
        return PipelineController(self._client, reader, jobs)

    @in_time()
    async def cancel(self, pipeline_id: str, request: CancelRequest) -> PipelineView:
        """Cancels what is not finished. `graceful` leaves it to the workflow, which runs what `always` runs; `force`
        gives nobody time, and needs no worker."""
        facts = await self._reader.facts(pipeline_id)
        if facts.is_open:
            try:
                await (self._force if request.mode == "force" else self._ask)(facts, request)
            except RPCError as error:
                if not is_unknown_id(error):
                    raise  # otherwise it ended by itself meanwhile
            facts = await self._reader.facts(pipeline_id)
        view = await self._reader.view(facts)
        if not facts.is_open and state_of(facts) is not State.CANCELLED:
            raise wrong_state(view, f"the pipeline is {view.state}; it is final and cannot be cancelled")
        return view

    async def _ask(self, facts: PipelineFacts, request: CancelRequest) -> None:
        if not await self._is_told(facts, request, time_left() - MARGIN):
            raise no_orchestrator('; {"mode": "force"} needs none')

    async def _force(self, facts: PipelineFacts, request: CancelRequest) -> None:
        """By the workflow while one answers, for it keeps the books of what is done; else, or when that was tried
        before, by the server alone."""
        was_tried = facts.progress is not None and facts.progress.halt is Halt.FORCED
        if was_tried or not await self._is_told(facts, request, _ANSWER):
            await self._end(facts, request)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(_ENDING, time_left() / 2)):
                await until_closed(self._client, facts.id, facts.run_id)

    async def _is_told(self, facts: PipelineFacts, request: CancelRequest, patience: float) -> bool:
        """Tells the workflow how, and then cancels it, so that it is shown as cancelled; whether it answered."""
        handle = self._client.get_workflow_handle(facts.id, run_id=facts.run_id)
        try:
            async with asyncio.timeout(patience):
                await handle.execute_update("cancel", request.model_dump(mode="json", exclude_none=True))
        except WorkflowUpdateFailedError:
            return True  # it comes to its end already
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            return False
        await handle.cancel(reason=request.reason or "")
        return True

    async def _end(self, facts: PipelineFacts, request: CancelRequest) -> None:
        """Ends the pipeline first, so that nothing begins any more, and then what it has under way."""
        execution = WorkflowExecution(workflow_id=facts.id, run_id=facts.run_id)
        children = await self._children(execution)
        await self._client.get_workflow_handle(facts.id, run_id=facts.run_id).terminate(
            reason=request.reason or "cancelled"
        )
        places = asyncio.Semaphore(_AT_ONCE)

        async def end(child: PendingChildExecutionInfo) -> None:
            async with places:
                await self._end_child(child, request)

        await together(end(child) for child in children)

    async def _end_child(self, child: PendingChildExecutionInfo, request: CancelRequest) -> None:
        try:
            if child.workflow_type_name == JOB:
                # Takes down the attempts, which are lost with a plain termination.
                await self._jobs.cancel(child.workflow_id, request)
                return
            execution = WorkflowExecution(workflow_id=child.workflow_id, run_id=child.run_id)
            items = await self._children(execution)
            handle = self._client.get_workflow_handle(child.workflow_id, run_id=child.run_id)
            await handle.terminate(reason=request.reason or "cancelled")
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
        except Problem as problem:
            if problem.status not in (404, 409):
                raise
        else:
            await together(self._end_child(item, request) for item in items)

    async def _children(self, execution: WorkflowExecution) -> list[PendingChildExecutionInfo]:
        described = await self._client.workflow_service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(namespace=self._client.namespace, execution=execution),
            retry=True,
        )
        return list(described.pending_children)


def wrong_state(pipeline: PipelineView, why: str) -> Problem:
    """`409`, with the pipeline as it is."""
    extra = {"state": pipeline.state, "pipeline": pipeline.model_dump(mode="json")}
    return Problem(409, "wrong-state", "Not in this state", why, extra=extra)
