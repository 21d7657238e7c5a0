"""Reading one job, exact and current."""

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from temporalio.client import Client, WorkflowHistoryEventFilterType
from temporalio.service import RPCError

from api.patience import in_time
from api.problems import Problem, is_unknown_id, unknown
from api.security.caller import ANYBODY, Caller
from duetime.contracts.job import JOB
from duetime.contracts.states import FINAL
from duetime.contracts.view import JobView, Links
from duetime.jobs.facts import Facts, NotAJob, fetch
from duetime.jobs.reading import with_history
from duetime.jobs.state import state_of, view_of


def no_such_job(job_id: str) -> Problem:
    """`404`, in the same words for a job that is not there and for one that the caller may not see."""
    return unknown(f"no job has the id {job_id[:250]!r}")


async def until_closed(client: Client, workflow_id: str, run_id: str) -> None:
    """Returns when this run has closed; a continued one is waited for in its next run."""
    while True:
        handle = client.get_workflow_handle(workflow_id, run_id=run_id)
        events = handle.fetch_history_events(
            wait_new_event=True, event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
        )
        following = ""
        async for event in events:
            following = event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
        if not following:
            return
        run_id = following


class Reader:
    """Reads jobs from their executions, never from the search index. What `caller` may not see is unknown."""

    def __init__(self, client: Client, ui_url: str, caller: Caller = ANYBODY) -> None:
        self._client = client
        self._ui_url = ui_url.rstrip("/")
        self._caller = caller

    def seen_by(self, caller: Caller) -> "Reader":
        """The same for another caller."""
        return Reader(self._client, self._ui_url, caller)

    async def facts(self, job_id: str) -> Facts:
        """The newest run's facts; a `404` problem when nobody knows the id."""
        facts = await self.known(job_id)
        if facts is None:
            raise no_such_job(job_id)
        return facts

    @in_time()
    async def known(self, job_id: str) -> Facts | None:
        """The newest run's facts, if the caller may see the job."""
        facts = await self._fetch(job_id)
        return await with_history(self._client, facts) if facts is not None else None

    async def exists(self, job_id: str) -> bool:
        """Whether the caller knows a job of this id."""
        if self._caller.is_bound:
            return await self._fetch(job_id) is not None
        try:
            found = await self._client.get_workflow_handle(job_id).describe()
        except RPCError as error:
            if is_unknown_id(error):
                return False
            raise
        return found.workflow_type == JOB

    async def _fetch(self, job_id: str) -> Facts | None:
        try:
            facts = await fetch(self._client, job_id)
        except NotAJob:
            return None
        except RPCError as error:
            if is_unknown_id(error):
                return None
            raise
        spec = facts.spec
        sees = self._caller.may_see(spec.kind if spec else None, spec.queue if spec else None)
        return facts if sees else None

    async def job(self, job_id: str) -> JobView:
        return self.view(await self.facts(job_id))

    def view(self, facts: Facts) -> JobView:
        return view_of(facts, datetime.now(UTC), self.links(facts.id))

    def links(self, job_id: str) -> Links:
        place = quote(job_id, safe=":~")  # Jobs that were started by hand may be called anything.
        temporal = f"{self._ui_url}/namespaces/{self._client.namespace}/workflows/{place}"
        return Links(self=f"/v1/jobs/{place}", temporal=temporal)

    async def finished(self, job_id: str, wait: timedelta) -> tuple[bool, JobView]:
        """Whether the job is final, after waiting for that up to `wait`, and the job then.

        A job that is replaced meanwhile is waited for in the one that took its id.
        """
        facts = await self.facts(job_id)
        if facts.is_open and wait > timedelta(0):
            try:
                async with asyncio.timeout(wait.total_seconds()):
                    while facts.is_open:
                        await until_closed(self._client, facts.id, facts.run_id)
                        facts = await self.facts(job_id)
            except TimeoutError:
                facts = await self.facts(job_id)
        return state_of(facts, datetime.now(UTC)) in FINAL, self.view(facts)
