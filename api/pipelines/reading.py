"""Reading one pipeline, exact and current."""

import asyncio
import copy
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from temporalio.client import Client
from temporalio.service import RPCError

from api.jobs.reading import until_closed
from api.patience import in_time
from api.pipelines.facts import NotAPipeline, PipelineFacts, fetch_pipeline
from api.pipelines.parts import Parts
from api.pipelines.state import state_of, view_of
from api.problems import Problem, is_unknown_id, unknown
from api.security.caller import ANYBODY, Caller
from duetime.contracts.pipeline import PipelineSpec
from duetime.contracts.pipeline_view import PipelineLinks, PipelineView
from duetime.contracts.states import FINAL


def no_such_pipeline(pipeline_id: str) -> Problem:
    """`404`, in the same words for one that is not there and for one that the caller may not see."""
    return unknown(f"no pipeline has the id {pipeline_id[:250]!r}")


def may_see(caller: Caller, spec: PipelineSpec) -> bool:
    """Whether the pipeline exists for the caller: a key that is bound sees one when it may see every job of it."""
    return not caller.is_bound or all(caller.may_see(job.kind, job.queue) for job in spec.jobs.values())


class PipelineReader:
    """Reads pipelines from their executions, never from the search index. What `caller` may not see is unknown."""

    def __init__(self, client: Client, ui_url: str) -> None:
        self._client = client
        self._ui_url = ui_url.rstrip("/")
        self._parts = Parts(client)
        self._caller = ANYBODY

    def seen_by(self, caller: Caller) -> "PipelineReader":
        """The same for another caller; what has been read is read for all."""
        other = copy.copy(self)
        other._caller = caller
        return other

    @in_time()
    async def facts(self, pipeline_id: str) -> PipelineFacts:
        """The newest run's facts; a `404` problem when nobody knows the id."""
        facts = await self.known(pipeline_id)
        if facts is None:
            raise no_such_pipeline(pipeline_id)
        return facts

    @in_time()
    async def known(self, pipeline_id: str) -> PipelineFacts | None:
        """The newest run's facts, if the caller may see the pipeline."""
        try:
            facts = await fetch_pipeline(self._client, pipeline_id)
        except NotAPipeline:
            return None
        except RPCError as error:
            if is_unknown_id(error):
                return None
            raise
        return facts if may_see(self._caller, facts.spec) else None

    @in_time()
    async def pipeline(self, pipeline_id: str) -> PipelineView:
        """The pipeline with each of its jobs; a `404` problem when nobody knows the id."""
        return await self.view(await self.facts(pipeline_id))

    async def view(self, facts: PipelineFacts) -> PipelineView:
        """The same for one whose facts are known."""
        parts = await self._parts.read(facts)
        return view_of(facts, parts, datetime.now(UTC), self.links(facts.id))

    def links(self, pipeline_id: str) -> PipelineLinks:
        place = quote(pipeline_id, safe=":~")
        own = f"/v1/pipelines/{place}"
        temporal = f"{self._ui_url}/namespaces/{self._client.namespace}/workflows/{place}"
        return PipelineLinks(self=own, graph=f"{own}/graph", temporal=temporal)

    async def finished(self, pipeline_id: str, wait: timedelta) -> tuple[bool, PipelineView]:
        """Whether the pipeline is final, after waiting for that up to `wait`, and the pipeline then."""
        facts = await self.facts(pipeline_id)
        if facts.is_open and wait > timedelta(0):
            try:
                async with asyncio.timeout(wait.total_seconds()):
                    while facts.is_open:
                        await until_closed(self._client, facts.id, facts.run_id)
                        facts = await self.facts(pipeline_id)
            except TimeoutError:
                facts = await self.facts(pipeline_id)
        return state_of(facts) in FINAL, await self.view(facts)
