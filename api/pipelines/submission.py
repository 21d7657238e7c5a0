"""Submitting a pipeline: one start of a workflow, and what to do when its id is taken."""

import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import WorkflowAlreadyStartedError

from api.jobs.idempotency import Match, hashes, match, other_body
from api.observe.counters import job_submitted
from api.patience import in_time
from api.pipelines.checking import PipelineCheck
from api.pipelines.facts import PipelineFacts
from api.pipelines.reading import PipelineReader
from api.pipelines.state import state_of, view_of
from api.problems import Problem, unavailable
from api.security.caller import ANYBODY, Caller
from api.security.scopes import Scope
from duetime.contracts.ids import id_of_key, new_id
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.pipeline import PIPELINE, PipelineSpec
from duetime.contracts.pipeline_requests import PipelineSubmission
from duetime.contracts.pipeline_view import PipelineView
from duetime.contracts.record import IDEMPOTENCY
from duetime.starting import Take


@dataclass(frozen=True)
class SubmittedPipeline:
    """`created` tells a new pipeline from one that was there; `replayed` that the key brought it back."""

    pipeline: PipelineView
    created: bool
    replayed: bool = False


class PipelineSubmitter:
    """Turns submissions of `caller` into workflows."""

    def __init__(self, client: Client, reader: PipelineReader, check: PipelineCheck) -> None:
        self._client = client
        self._reader = reader
        self._check = check
        self._caller = ANYBODY

    def on_behalf_of(
        self, caller: Caller, reader: PipelineReader, check: PipelineCheck
    ) -> "PipelineSubmitter":
        """The same for another caller."""
        other = copy.copy(self)
        other._caller, other._reader, other._check = caller, reader, check
        return other

    @in_time()
    async def submit(self, submission: PipelineSubmission, key: str | None, body: Any) -> SubmittedPipeline:
        """Accepts a pipeline. It is durable when this returns; `Problem` when it was refused, or nobody knows."""
        self._check.check_caller(submission)
        pipeline_id = submission.id or (id_of_key(key) if key else new_id(datetime.now(UTC)))
        wanted = hashes(key, body) if key else None
        try:
            spec, warnings = await self._check.check(submission, pipeline_id)
        except Problem:
            # What was accepted once is answered again, whatever was announced or forgotten since.
            if wanted is not None and (there := await self._replay(pipeline_id, wanted)):
                return there
            raise
        take = Take.NEW
        for _ in range(5):  # the one in the way may end, or another begin, between two looks
            try:
                accepted = await self._start(spec, pipeline_id, wanted, take)
                return SubmittedPipeline(accepted.model_copy(update={"warnings": warnings}), created=True)
            except WorkflowAlreadyStartedError:
                decided = await self._taken(submission, pipeline_id, wanted)
                if isinstance(decided, SubmittedPipeline):
                    return decided
                take = decided
        raise unavailable(f"the id {pipeline_id!r} changes hands too fast; try again", "busy_id")

    async def _start(
        self, spec: PipelineSpec, pipeline_id: str, wanted: dict[str, str] | None, take: Take
    ) -> PipelineView:
        reuse, conflict = take.value
        handle = await self._client.start_workflow(
            PIPELINE,
            args=[spec.compact()],
            id=pipeline_id,
            task_queue=ORCHESTRATION_QUEUE,
            id_reuse_policy=reuse,
            id_conflict_policy=conflict,
            memo={IDEMPOTENCY: wanted} if wanted else None,
            static_summary=f"{len(spec.jobs)} jobs",
        )
        for job in spec.jobs.values():
            job_submitted(job.kind, job.queue)
        now = datetime.now(UTC)
        run_id = handle.first_execution_run_id or ""
        facts = PipelineFacts(pipeline_id, run_id, WorkflowExecutionStatus.RUNNING, now, None, spec)
        return view_of(facts, {}, now, self._reader.links(pipeline_id))

    async def _replay(self, pipeline_id: str, wanted: dict[str, str]) -> SubmittedPipeline | None:
        """The pipeline that this key and body made before."""
        facts = await self._reader.known(pipeline_id)
        if facts is None or match(facts, wanted) is not Match.SAME:
            return None
        return SubmittedPipeline(await self._reader.view(facts), created=False, replayed=True)

    async def _taken(
        self, submission: PipelineSubmission, pipeline_id: str, wanted: dict[str, str] | None
    ) -> SubmittedPipeline | Take:
        """The id is taken: the pipeline that has it, a wider start, or a refusal."""
        facts = await self._reader.known(pipeline_id)
        if facts is None:
            raise Problem(
                409,
                "id-in-use",
                "The id is in use",
                "a pipeline of another caller, a job, or a workflow of another type has this id; choose another",
            )
        if wanted is not None:
            match match(facts, wanted):
                case Match.SAME:
                    return SubmittedPipeline(await self._reader.view(facts), created=False, replayed=True)
                case Match.OTHER_BODY:
                    raise other_body()
        if not facts.is_open:
            if submission.reuse_id:
                return Take.AGAIN
            finished = 'has this id and is finished; send "reuse_id": true to use the id again'
            raise await self._in_use(finished, facts)
        match submission.on_conflict:
            case "return":
                return SubmittedPipeline(await self._reader.view(facts), created=False)
            case "replace":
                return Take.REPLACE
        raise await self._in_use("has this id and is still open; `on_conflict` says what else to do", facts)

    async def _in_use(self, detail: str, facts: PipelineFacts) -> Problem:
        """`409`, with the pipeline that has the id for those who may read it."""
        extra = {}
        if self._caller.may(Scope.READ):
            extra["pipeline"] = (await self._reader.view(facts)).model_dump(mode="json")
        return Problem(
            409,
            "id-in-use",
            "The id is in use",
            f"a pipeline that is {state_of(facts)} {detail}",
            extra=extra,
        )
