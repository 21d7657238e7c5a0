"""Submitting a pipeline: one start of a workflow, and what to do when its id is taken."""

import copy
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus

from api.jobs.claiming import Accepted, Verdict, accept, in_use, judge, refused
from api.jobs.idempotency import Match, hashes, match
from api.observe.counters import job_submitted
from api.patience import in_time
from api.pipelines.checking import PipelineCheck
from api.pipelines.facts import PipelineFacts
from api.pipelines.reading import PipelineReader
from api.pipelines.state import state_of, view_of
from api.problems import Problem
from api.security.caller import ANYBODY, Caller
from api.security.scopes import Scope
from duetime.contracts.ids import id_of_key, new_id
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.pipeline import PIPELINE, PipelineSpec
from duetime.contracts.pipeline_requests import PipelineSubmission
from duetime.contracts.pipeline_view import PipelineView
from duetime.contracts.record import IDEMPOTENCY
from duetime.starting import Take


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
    async def submit(
        self, submission: PipelineSubmission, key: str | None, body: Any
    ) -> Accepted[PipelineView]:
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

        async def start(take: Take) -> PipelineView:
            accepted = await self._start(spec, pipeline_id, wanted, take)
            return accepted.model_copy(update={"warnings": warnings})

        return await accept(
            pipeline_id, Take.NEW, start, lambda: self._taken(submission, pipeline_id, wanted)
        )

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

    async def _replay(self, pipeline_id: str, wanted: dict[str, str]) -> Accepted[PipelineView] | None:
        """The pipeline that this key and body made before."""
        facts = await self._reader.known(pipeline_id)
        if facts is None or match(facts, wanted) is not Match.SAME:
            return None
        return Accepted(await self._reader.view(facts), created=False, replayed=True)

    async def _taken(
        self, submission: PipelineSubmission, pipeline_id: str, wanted: dict[str, str] | None
    ) -> Accepted[PipelineView] | Take:
        """The id is taken: the pipeline that has it, a wider start, or a refusal."""
        facts = await self._reader.known(pipeline_id)
        if facts is None:
            raise in_use(
                "a pipeline of another caller, a job, or a workflow of another type has this id; choose another"
            )
        match verdict := judge(facts, wanted, submission):
            case Verdict.REPLAY | Verdict.RETURN:
                there = await self._reader.view(facts)
                return Accepted(there, created=False, replayed=verdict is Verdict.REPLAY)
            case Verdict.AGAIN:
                return Take.AGAIN
            case Verdict.REPLACE:
                return Take.REPLACE
            case Verdict.REFUSE:
                # The pipeline is for those who may read it.
                readable = self._caller.may(Scope.READ)
                told = (
                    {"pipeline": (await self._reader.view(facts)).model_dump(mode="json")} if readable else {}
                )
                raise refused(facts, f"a pipeline that is {state_of(facts)}", **told)
