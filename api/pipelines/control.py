"""Cancelling a pipeline: by its workflow, which cleans up, or by the server alone."""

import asyncio

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
from api.patience import in_time, time_left
from api.pipelines.facts import PipelineFacts
from api.pipelines.reading import PipelineReader
from api.pipelines.state import state_of
from api.problems import Problem, is_unknown_id
from api.together import together
from duetime.contracts.job import JOB
from duetime.contracts.pipeline_view import PipelineView
from duetime.contracts.requests import CancelRequest
from duetime.contracts.states import State

_AT_ONCE = 32


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
        """Cancels what is not finished. `graceful` is carried out by the workflow, which runs what `always` runs;
        `force` ends all at once, with no worker alive."""
        facts = await self._reader.facts(pipeline_id)
        if facts.is_open:
            try:
                if request.mode == "force":
                    await self._end(facts, request)
                else:
                    await self._ask(facts, request)
            except RPCError as error:
                if not is_unknown_id(error):
                    raise  # otherwise it ended by itself meanwhile
            facts = await self._reader.facts(pipeline_id)
        view = await self._reader.view(facts)
        if not facts.is_open and state_of(facts) is not State.CANCELLED:
            raise wrong_state(view, f"the pipeline is {view.state}; it is final and cannot be cancelled")
        return view

    async def _ask(self, facts: PipelineFacts, request: CancelRequest) -> None:
        """Tells the workflow how, and then cancels it, so that it is shown as cancelled."""
        handle = self._client.get_workflow_handle(facts.id, run_id=facts.run_id)
        try:
            async with asyncio.timeout(time_left() - MARGIN):
                await handle.execute_update("cancel", request.model_dump(mode="json", exclude_none=True))
        except WorkflowUpdateFailedError:
            return  # it comes to its end already
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            raise no_orchestrator('; {"mode": "force"} needs none') from None
        await handle.cancel(reason=request.reason or "")

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
