"""Redrive: a final job runs again under its id, as one more execution of the same workflow.

The start carries a request id made of the run that is redriven, and the server answers a repeated request id with the
run that it made the first time: two redrives at once, or one that is repeated after a lost answer, make one run.
"""

from typing import Any
from urllib.parse import quote

from temporalio.api.common.v1 import Memo, Payloads, Priority, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.sdk.v1 import UserMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, StartWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.jobs.facts import Facts
from api.jobs.reading import Reader
from api.jobs.state import record_of
from api.patience import in_time
from api.problems import Problem
from duetime import attributes
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.record import IDEMPOTENCY, Record
from duetime.contracts.requests import RedriveRequest
from duetime.contracts.states import State
from duetime.contracts.view import JobView
from workflows.carry import Carry
from workflows.reading import JOB


class Redriver:
    """Starts final jobs again."""

    def __init__(self, client: Client, reader: Reader) -> None:
        self._client = client
        self._reader = reader

    def reading_with(self, reader: Reader) -> "Redriver":
        """The same for whoever `reader` reads for."""
        return Redriver(self._client, reader)

    @in_time()
    async def redrive(self, job_id: str, request: RedriveRequest) -> JobView:
        """The job as it is with its new run; a `409` problem when it is open, succeeded, or another run's."""
        facts = await self._reader.facts(job_id)
        job = self._reader.view(facts)
        if request.run_id is not None and request.run_id != facts.run_id:
            raise _refused(job, f"the newest run is {facts.run_id}, not {request.run_id}")
        if job.pipeline_id is not None:
            raise _of_a_pipeline(job, job.pipeline_id)
        if facts.is_open:
            raise _refused(job, "the job is still open; only a final one can be redriven")
        if facts.spec is None:
            raise _refused(job, "its input was no job; submit a new one")
        if job.state is State.SUCCEEDED and not request.force:
            raise _refused(job, 'the job has succeeded; send "force": true to run it again all the same')
        await self._start(facts, request)
        return await self._reader.job(job_id)

    async def _start(self, facts: Facts, request: RedriveRequest) -> None:
        try:
            await self._client.workflow_service.start_workflow_execution(
                await self._request(facts, request), retry=True
            )
        except RPCError as error:
            if error.status is RPCStatusCode.ALREADY_EXISTS:
                raise _refused(
                    await self._reader.job(facts.id), "another run of the job began meanwhile"
                ) from None
            raise

    async def _request(self, facts: Facts, request: RedriveRequest) -> StartWorkflowExecutionRequest:
        assert facts.spec is not None
        encode = self._client.data_converter.encode
        spec = facts.spec.model_copy(
            update={
                "run_at": None,
                "timezone": None,
                "delay": None,
                "spread": type(facts.spec.spread)(0),
                "after": [],
            }
        )
        record = record_of(facts)
        changes: dict[str, Any] = {
            "record": Record(
                checkpoint=record.checkpoint if request.begin == "checkpoint" else None,
                token_floor=record.highest_token,
            ),
            "idempotency_key": facts.idempotency_key,
            "schedule_id": facts.carry.schedule_id,
            "nominal_time": facts.carry.nominal_time,
            "priority": facts.view.priority if facts.view else None,
        }
        carry = Carry.fresh().model_copy(update=changes)
        described = await self._described(facts)
        memo = (
            {IDEMPOTENCY: described.memo.fields[IDEMPOTENCY]} if IDEMPOTENCY in described.memo.fields else {}
        )
        found = described.search_attributes
        for gone in (attributes.OUTCOME.name, attributes.DUE_AT.name):
            found.indexed_fields.pop(gone, None)
        summary = (await encode([f"{spec.kind} (redriven)"]))[0]
        return StartWorkflowExecutionRequest(
            namespace=self._client.namespace,
            workflow_id=facts.id,
            workflow_type=WorkflowType(name=JOB),
            task_queue=TaskQueue(name=ORCHESTRATION_QUEUE),
            input=Payloads(payloads=await encode([spec.compact(), carry.compact()])),
            identity=self._client.identity,
            request_id=f"duetime-redrive-{facts.run_id}",
            workflow_id_reuse_policy=WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
            workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
            memo=Memo(fields=memo),
            search_attributes=found,
            priority=Priority(priority_key=spec.priority),
            user_metadata=UserMetadata(summary=summary),
        )

    async def _described(self, facts: Facts) -> Any:
        execution = WorkflowExecution(workflow_id=facts.id, run_id=facts.run_id)
        response = await self._client.workflow_service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(namespace=self._client.namespace, execution=execution),
            retry=True,
        )
        return response.workflow_execution_info


def _of_a_pipeline(job: JobView, pipeline_id: str) -> Problem:
    """Others may have been skipped because of it, and its result is what they were given."""
    path = f"POST /v1/pipelines/{quote(pipeline_id, safe=':~')}:retry"
    why = f"the job is part of the pipeline {pipeline_id!r} and is redriven with it: {path}"
    return _refused(job, why, pipeline_id=pipeline_id)


def _refused(job: JobView, why: str, **more: str) -> Problem:
    return Problem(
        409,
        "wrong-state",
        "Not in this state",
        why,
        extra={"state": job.state, "job": job.model_dump(mode="json"), **more},
    )
