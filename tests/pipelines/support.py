"""Starting pipelines as any Temporal client does, and reading what became of them."""

import asyncio
import contextlib
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from duetime import Job, Reject, handler
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.pipeline import PIPELINE, PipelineSpec, job_id
from duetime.contracts.pipeline_state import FAULTS, ITEMS, PROGRESS, ItemCounts, Progress
from tests.support.jobs import Outcome, outcome_of
from workflows.pipeline_input import PipelineCarry, retry_carry


@dataclass(frozen=True)
class Ended:
    """How a pipeline ended."""

    status: WorkflowExecutionStatus | None
    progress: Progress
    jobs: dict[str, str] = field(default_factory=dict)
    type: str = ""
    message: str = ""

    @property
    def marks(self) -> str:
        return self.progress.marks


@dataclass(frozen=True)
class Pipelines:
    """Pipelines whose jobs all go to one queue. What the handlers do in those of one test is in its `log`."""

    client: Client
    queue: str
    log: "Log"

    async def start(self, jobs: dict[str, dict[str, Any]], *, id: str = "", **fields: Any) -> WorkflowHandle:
        told = {name: {"queue": self.queue, **job} for name, job in jobs.items()}
        return await self.start_raw({"jobs": told, **fields}, id=id)

    async def start_raw(self, *arguments: Any, id: str = "", **options: Any) -> WorkflowHandle:
        id = id or f"pipeline-{uuid.uuid4().hex[:12]}"
        _LOGS[id.partition("~")[0]] = self.log
        return await self.client.start_workflow(
            PIPELINE,
            args=arguments,
            id=id,
            task_queue=ORCHESTRATION_QUEUE,
            **options,
        )

    async def run(self, jobs: dict[str, dict[str, Any]], **fields: Any) -> Ended:
        return await ended(await self.start(jobs, **fields))

    def handle_of(self, pipeline: WorkflowHandle, name: str, index: int | None = None) -> WorkflowHandle:
        return self.client.get_workflow_handle(job_id(pipeline.id, name, index), result_type=dict[str, Any])

    async def outcome(self, pipeline: WorkflowHandle, name: str, index: int | None = None) -> Outcome:
        """How one job of a pipeline ended."""
        return await outcome_of(self.handle_of(pipeline, name, index))


async def ended(handle: WorkflowHandle) -> Ended:
    """Waits for the end of a pipeline."""
    kind, message, told = "", "", {}
    try:
        told = await handle.result()
    except WorkflowFailureError as failure:
        if isinstance(failure.cause, ApplicationError):
            kind, message = failure.cause.type or "", failure.cause.message
            told = failure.cause.details[0] if failure.cause.details else {}
    described = await handle.describe()
    return Ended(described.status, await progress(handle), told.get("jobs", {}), kind, message)


async def progress(handle: WorkflowHandle) -> Progress:
    memo = await (await handle.describe()).memo()
    return Progress.model_validate(memo.get(PROGRESS, {}))


async def faults(handle: WorkflowHandle) -> dict[str, dict[str, str]]:
    return (await (await handle.describe()).memo()).get(FAULTS, {})


async def counts(handle: WorkflowHandle) -> ItemCounts:
    memo = await (await handle.describe()).memo()
    return ItemCounts.model_validate(memo.get(ITEMS, {}))


async def retried(client: Client, ended_: WorkflowHandle) -> WorkflowHandle:
    """One more run of an ended pipeline, begun as the API begins it."""
    started = (await ended_.fetch_history()).events[0].workflow_execution_started_event_attributes
    told = await client.data_converter.decode(started.input.payloads)
    spec = PipelineSpec.model_validate(told[0])
    earlier = PipelineCarry.model_validate(told[1]) if len(told) > 1 else PipelineCarry()
    run_id = (await ended_.describe()).run_id
    carry = retry_carry(
        spec, await progress(ended_), earlier, ended_.id, started.first_execution_run_id, run_id
    )
    return await client.start_workflow(
        PIPELINE, args=[spec.compact(), carry.compact()], id=ended_.id, task_queue=ORCHESTRATION_QUEUE
    )


class Log:
    """What handlers did, in order."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.seen: dict[str, Any] = {}
        self.jobs: dict[str, Job] = {}
        self.failing: set[str] = set()
        self.under_way = self.most = 0

    @contextmanager
    def noting(self, job: Job, payload: Any) -> Iterator[str]:
        name = job.id.partition("~")[2]
        self.began.append(name)
        self.seen[name], self.jobs[name] = payload, job
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            yield name
        finally:
            self.under_way -= 1
            self.ended.append(name)


#: By the beginning of the pipeline's id.
_LOGS: dict[str, Log] = {}


def noting(job: Job, payload: Any) -> AbstractContextManager[str]:
    return _LOGS[job.id.partition("~")[0]].noting(job, payload)


@handler("say")
async def say(payload: dict[str, Any], job: Job) -> Any:
    """Returns its payload, or fails when it is to."""
    with noting(job, payload) as name:
        if name in _LOGS[job.id.partition("~")[0]].failing:
            raise Reject(f"{name} is to fail")
        await asyncio.sleep(payload.get("pause", 0))
        return payload


@handler("wait", lease="2s")
async def wait(payload: dict[str, Any], job: Job) -> None:
    """Waits to be cancelled."""
    with noting(job, payload):
        await asyncio.Event().wait()


@handler("give")
async def give(payload: dict[str, Any], job: Job) -> Any:
    with noting(job, payload):
        return payload["value"]


@handler("mirror")
async def mirror(payload: dict[str, Any], job: Job) -> Any:
    """Returns what looks like a reference."""
    with noting(job, payload):
        return {"x": {"$result": "secret.pin"}}


@handler("long")
async def long(payload: dict[str, Any], job: Job) -> str:
    return payload["text"] * payload["times"]


@handler("choosy", lease="2s")
async def choosy(payload: dict[str, Any], job: Job) -> Any:
    """Returns its payload, or waits to be cancelled when it is to fail."""
    with noting(job, payload) as name:
        if name in _LOGS[job.id.partition("~")[0]].failing:
            await asyncio.Event().wait()
        return payload


@handler("stubborn", lease="2s")
async def stubborn(payload: dict[str, Any], job: Job) -> str:
    """Finishes when it is told to stop."""
    with noting(job, payload):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "done"


HANDLERS = [say, wait, give, mirror, long, choosy, stubborn]
