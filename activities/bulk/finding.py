"""Jobs that a query holds, a page of the search index at a time, each once and by its newest run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest
from temporalio.client import Client, WorkflowExecutionStatus

from duetime import attributes
from duetime.contracts.job import JOB
from duetime.jobs.literal import is_harmless, literal
from duetime.jobs.wire import decode, instant

#: Ids in one question for their newest runs.
_IDS = 200


@dataclass(frozen=True)
class Found:
    """One run in the index."""

    id: str
    run_id: str
    is_open: bool
    started_at: datetime
    kind: str
    queue: str


async def page(client: Client, query: str, size: int, token: bytes) -> tuple[list[Found], bytes]:
    """The next `size` runs and where to go on, empty at the end."""
    answer = await client.workflow_service.list_workflow_executions(
        ListWorkflowExecutionsRequest(
            namespace=client.namespace, query=query, page_size=size, next_page_token=token
        ),
        retry=True,
    )
    return [await _found(client, info) for info in answer.executions], answer.next_page_token


async def newest(client: Client, runs: Sequence[Found]) -> list[Found]:
    """Those of `runs` after which no other run of their job began: a job that was redriven has several.

    Ids that cannot be asked for are taken to be well; whoever acts on them looks at the newest run anyway.
    """
    asked = [run for run in runs if not run.is_open and is_harmless(run.id)]
    latest: dict[str, Found] = {}
    for ids in _batches(sorted({run.id for run in asked})):
        names = ", ".join(literal(one) for one in ids)
        query = f"WorkflowType = {literal(JOB)} AND ExecutionStatus != 'ContinuedAsNew' AND WorkflowId IN ({names})"
        token, more = b"", True
        while more:
            found, token = await page(client, query, 1_000, token)
            for run in found:
                known = latest.get(run.id)
                if known is None or (run.is_open, run.started_at) > (known.is_open, known.started_at):
                    latest[run.id] = run
            more = bool(token)
    return [run for run in runs if run.id not in latest or latest[run.id].run_id == run.run_id]


def _batches(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[at : at + _IDS] for at in range(0, len(ids), _IDS))


async def _found(client: Client, info: WorkflowExecutionInfo) -> Found:
    return Found(
        id=info.execution.workflow_id,
        run_id=info.execution.run_id,
        is_open=WorkflowExecutionStatus(info.status) is WorkflowExecutionStatus.RUNNING,
        started_at=instant(info.start_time),
        kind=await _indexed(client, info, attributes.KIND.name),
        queue=await _indexed(client, info, attributes.QUEUE.name),
    )


async def _indexed(client: Client, info: WorkflowExecutionInfo, name: str) -> str:
    found = info.search_attributes.indexed_fields
    return str(await decode(client, found[name])) if name in found else ""
