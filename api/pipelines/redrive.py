"""Redrive: an ended pipeline runs again under its id what failed, and what was skipped or cancelled because of that.

As with a job, the start carries a request id made of the run that is redriven, and the server answers a repeated
request id with the run that it made the first time: two redrives at once make one run.
"""

from temporalio.api.common.v1 import Memo, Payloads, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.sdk.v1 import UserMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, StartWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.patience import in_time
from api.pipelines.control import wrong_state
from api.pipelines.facts import PipelineFacts
from api.pipelines.reading import PipelineReader
from api.pipelines.state import state_of
from duetime import attributes
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.pipeline import PIPELINE
from duetime.contracts.pipeline_requests import PipelineRedriveRequest
from duetime.contracts.pipeline_state import Mark, Progress
from duetime.contracts.pipeline_view import PipelineView
from duetime.contracts.record import IDEMPOTENCY
from duetime.contracts.schedule_book import MADE_BY
from duetime.contracts.states import State
from workflows.pipeline_input import retry_carry


class PipelineRedriver:
    """Starts ended pipelines again."""

    def __init__(self, client: Client, reader: PipelineReader) -> None:
        self._client = client
        self._reader = reader

    def reading_with(self, reader: PipelineReader) -> "PipelineRedriver":
        """The same for whoever `reader` reads for."""
        return PipelineRedriver(self._client, reader)

    @in_time()
    async def redrive(self, pipeline_id: str, request: PipelineRedriveRequest) -> PipelineView:
        """The pipeline as it is with its new run; a `409` problem when it is open, has nothing to run again, or its
        newest run is another one."""
        facts = await self._reader.facts(pipeline_id)
        if why := self._refusal(facts, request):
            raise wrong_state(await self._reader.view(facts), why)
        try:
            await self._client.workflow_service.start_workflow_execution(
                await self._request(facts), retry=True
            )
        except RPCError as error:
            if error.status is RPCStatusCode.ALREADY_EXISTS:
                view = await self._reader.pipeline(pipeline_id)
                raise wrong_state(view, "another run of the pipeline began meanwhile") from None
            raise
        return await self._reader.pipeline(pipeline_id)

    def _refusal(self, facts: PipelineFacts, request: PipelineRedriveRequest) -> str | None:
        if request.run_id is not None and request.run_id != facts.run_id:
            return f"the newest run is {facts.run_id}, not {request.run_id}"
        if facts.is_open:
            return "the pipeline is still open; only a final one can be redriven"
        if state_of(facts) is State.SUCCEEDED:
            return "the pipeline has succeeded; there is nothing to run again"
        return None

    async def _request(self, facts: PipelineFacts) -> StartWorkflowExecutionRequest:
        encode = self._client.data_converter.encode
        progress = facts.progress or Progress()
        carry = retry_carry(facts.spec, progress, facts.carry, facts.id, facts.first_run_id, facts.run_id)
        again = sum(mark == Mark.WAITING for mark in carry.marks)
        execution = WorkflowExecution(workflow_id=facts.id, run_id=facts.run_id)
        described = await self._client.workflow_service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(namespace=self._client.namespace, execution=execution),
            retry=True,
        )
        info = described.workflow_execution_info
        info.search_attributes.indexed_fields.pop(attributes.OUTCOME.name, None)
        memo = {name: payload for name, payload in info.memo.fields.items() if name in (IDEMPOTENCY, MADE_BY)}
        summary = (await encode([f"{again} of {len(facts.spec.jobs)} jobs (redriven)"]))[0]
        return StartWorkflowExecutionRequest(
            namespace=self._client.namespace,
            workflow_id=facts.id,
            workflow_type=WorkflowType(name=PIPELINE),
            task_queue=TaskQueue(name=ORCHESTRATION_QUEUE),
            input=Payloads(payloads=await encode([facts.spec.compact(), carry.compact()])),
            identity=self._client.identity,
            request_id=f"duetime-redrive-{facts.run_id}",
            workflow_id_reuse_policy=WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
            workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
            memo=Memo(fields=memo),
            search_attributes=info.search_attributes,
            user_metadata=UserMetadata(summary=summary),
        )
