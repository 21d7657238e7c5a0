"""Runs that we start ourselves: each under an id of its own, once, whoever asks however often."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from temporalio.api.common.v1 import Memo, SearchAttributes, WorkflowType
from temporalio.api.common.v1 import Payloads as PayloadsMessage
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.sdk.v1 import UserMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.converter import encode_search_attributes
from temporalio.service import RPCError, RPCStatusCode

from duetime import attributes
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.schedule_book import Book
from duetime.schedules.native import made_by
from duetime.schedules.work import work_of


class Reuse(StrEnum):
    """Which earlier runs under the id leave room for another."""

    NONE = "none"
    UNSUCCESSFUL = "unsuccessful"
    ANY = "any"


_POLICIES = {
    Reuse.NONE: WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
    Reuse.UNSUCCESSFUL: WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
    Reuse.ANY: WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
}


async def start_run(
    client: Client,
    book: Book,
    job_id: str,
    nominal: datetime,
    *,
    reuse: Reuse,
    request_id: str,
    priority: int | None = None,
    memo: Mapping[str, Any] | None = None,
) -> str | None:
    """Starts the schedule's job or pipeline; the id of its run, `None` when the id is taken.

    The server takes a `request_id` once. What a stable jitter moves the rule's runs by does not move this one.
    """
    work = work_of(book, datetime.now(UTC), priority)
    found: list[SearchAttributePair[Any]] = [
        *work.attributes,
        SearchAttributePair(attributes.SCHEDULE_ID, book.id),
        SearchAttributePair(attributes.NOMINAL_TIME, nominal),
    ]
    said = dict(memo) if memo is not None else made_by(book)
    encode = client.data_converter.encode
    index = SearchAttributes()
    encode_search_attributes(TypedSearchAttributes(found), index)
    request = StartWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_id=job_id,
        workflow_type=WorkflowType(name=work.type),
        task_queue=TaskQueue(name=ORCHESTRATION_QUEUE),
        input=PayloadsMessage(payloads=await encode(work.arguments)),
        identity=client.identity,
        request_id=request_id,
        workflow_id_reuse_policy=_POLICIES[reuse],
        workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        memo=Memo(fields={name: (await encode([value]))[0] for name, value in said.items()}),
        search_attributes=index,
        priority=work.priority._to_proto(),
        user_metadata=UserMetadata(summary=(await encode([work.summary]))[0]),
    )
    try:
        return (await client.workflow_service.start_workflow_execution(request, retry=True)).run_id
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            return None
        raise
