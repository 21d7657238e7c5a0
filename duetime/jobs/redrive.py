"""Redrive: a final job runs again under its id, as one more execution of the same workflow.

The start carries a request id made of the run that is redriven, and the server answers a repeated request id with the
run that it made the first time: two redrives at once, or one that is repeated after a lost answer, make one run.
"""

from datetime import UTC, datetime
from typing import Any

from temporalio.api.common.v1 import Memo, Payloads, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.sdk.v1 import UserMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, StartWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from duetime import attributes
from duetime.contracts.carry import Carry
from duetime.contracts.job import JOB
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.record import IDEMPOTENCY, Record
from duetime.contracts.requests import RedriveRequest
from duetime.contracts.schedule_book import MADE_BY
from duetime.contracts.states import State
from duetime.jobs.facts import Facts
from duetime.jobs.refusal import NotNow
from duetime.jobs.state import record_of, state_of
from duetime.starting import priority_of


def check_redrive(facts: Facts, request: RedriveRequest) -> None:
    """Passes when the job can be redriven; `NotNow` says why it cannot."""
    if request.run_id is not None and request.run_id != facts.run_id:
        raise NotNow("moved_on", f"the newest run is {facts.run_id}, not {request.run_id}")
    if facts.carry.pipeline_id is not None:
        # Others may have been skipped because of it, and its result is what they were given.
        raise NotNow(
            "of_pipeline", f"the job is part of the pipeline {facts.carry.pipeline_id!r}: redrive that"
        )
    if facts.is_open:
        raise NotNow("open", "the job is still open; only a final one can be redriven")
    if facts.spec is None:
        raise NotNow("no_job", "its input was no job; submit a new one")
    if state_of(facts, datetime.now(UTC)) is State.SUCCEEDED and not request.force:
        raise NotNow("succeeded", 'the job has succeeded; send "force": true to run it again all the same')


async def redrive(client: Client, facts: Facts, request: RedriveRequest) -> str:
    """Starts the final job that `facts` tell of again; the id of its new run. `NotNow` says why it cannot."""
    check_redrive(facts, request)
    try:
        started = await client.workflow_service.start_workflow_execution(
            await _request(client, facts, request), retry=True
        )
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            raise NotNow("moved_on", "another run of the job began meanwhile") from None
        raise
    return started.run_id


async def _request(client: Client, facts: Facts, request: RedriveRequest) -> StartWorkflowExecutionRequest:
    assert facts.spec is not None
    encode = client.data_converter.encode
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
        "priority": facts.view.priority if facts.view else None,
        "redrive_of": facts.run_id,
    }
    carry = Carry.fresh().model_copy(update=changes)
    described = await _described(client, facts)
    kept = described.memo.fields
    memo = {name: kept[name] for name in (IDEMPOTENCY, MADE_BY) if name in kept}
    found = described.search_attributes
    for gone in (attributes.OUTCOME.name, attributes.DUE_AT.name):
        found.indexed_fields.pop(gone, None)
    summary = (await encode([f"{spec.kind} (redriven)"]))[0]
    return StartWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_id=facts.id,
        workflow_type=WorkflowType(name=JOB),
        task_queue=TaskQueue(name=ORCHESTRATION_QUEUE),
        input=Payloads(payloads=await encode([spec.compact(), carry.compact()])),
        identity=client.identity,
        request_id=f"duetime-redrive-{facts.run_id}",
        workflow_id_reuse_policy=WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
        workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        memo=Memo(fields=memo),
        search_attributes=found,
        priority=priority_of(spec)._to_proto(),
        user_metadata=UserMetadata(summary=summary),
    )


async def _described(client: Client, facts: Facts) -> Any:
    execution = WorkflowExecution(workflow_id=facts.id, run_id=facts.run_id)
    response = await client.workflow_service.describe_workflow_execution(
        DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=execution),
        retry=True,
    )
    return response.workflow_execution_info
