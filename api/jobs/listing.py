"""Lists of jobs: open ones exact, each read for itself; finished ones as the search index tells them."""

import asyncio
import copy
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from api.jobs import query
from api.jobs.cursor import Cursor, Part, read, write
from api.jobs.filters import JobFilter
from api.jobs.index import Index, Row
from api.jobs.pages import Page, Seen, fill
from api.jobs.reading import Reader
from api.jobs.walk import Walk
from api.patience import answer_in_time
from api.security.caller import ANYBODY, Caller
from api.together import together
from duetime.contracts.view import JobPage, JobSummary
from duetime.jobs.facts import Facts, fetch
from duetime.jobs.state import state_of

#: Executions read at the same time, over all lists that an API instance is asked for.
_AT_ONCE = 16
#: A filter by the state of open jobs may pass over many that are in another: a page also stops after so many seconds.
_LONG_ENOUGH = 2.5
_STRIDE = 200


@dataclass
class _Page(Page[JobSummary]):
    """A page of jobs, which may pass over many."""

    wanted: JobFilter = field(kw_only=True)
    since: float = field(default_factory=time.monotonic)

    @property
    def is_enough(self) -> bool:
        return super().is_enough or time.monotonic() - self.since > _LONG_ENOUGH

    def stride(self, at: Cursor | None) -> int:
        """As many as are missing, unless many of them may not be wanted."""
        passes_over = bool(self.wanted.open_states) and not self.wanted.takes_every_open_job
        if passes_over and (at is None or at.part is Part.OPEN):
            return _STRIDE
        return super().stride(at)


class Lister:
    """Fills pages."""

    def __init__(self, client: Client, reader: Reader) -> None:
        self._client = client
        self._reader = reader
        self._index = Index(client)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._caller = ANYBODY

    def seen_by(self, caller: Caller, reader: Reader) -> "Lister":
        """The same for another caller, who reads with `reader`."""
        other = copy.copy(self)
        other._caller, other._reader, other._index = caller, reader, self._index.seen_by(caller)
        return other

    async def page(self, wanted: JobFilter, limit: int, cursor: str | None) -> JobPage:
        """The jobs after `cursor`, or the first ones; a `422` problem for a cursor of another list."""
        scope = f"{self._client.namespace}\n{wanted.canonical()}"
        at = read(cursor, scope) if cursor is not None else None
        page = _Page(limit, wanted=wanted)
        walk = Walk(self._index, wanted, query.jobs(wanted))
        then = await answer_in_time(fill(page, walk, at, partial(self._see, page)))
        return JobPage(jobs=page.items, next_cursor=write(then, scope) if then else None)

    async def _see(self, page: _Page, rows: list[Row], begin: Cursor) -> list[Seen[JobSummary]]:
        """The rows as jobs, in their order."""
        unknown = [row for row in rows if not row.is_told]
        page.read += len(unknown)
        read = await together(self._read(row, page.wanted, begin) for row in unknown)
        by_run = {row.run_id: now for row, now in zip(unknown, read, strict=True)}
        return [by_run.get(row.run_id) or Seen(self._told(row)) for row in rows]

    async def _read(self, row: Row, wanted: JobFilter, begin: Cursor) -> Seen[JobSummary]:
        async with self._places:
            facts = await self._facts(row, begin)
        if facts is None:
            return Seen(None)
        job = JobSummary.of(self._reader.view(facts))
        job.schedule_id = job.schedule_id or row.schedule_id
        job.pipeline_id = job.pipeline_id or row.pipeline_id
        states = wanted.open_states | wanted.final_states
        # The index may be behind, and the id another job's by now.
        sees = self._caller.may_see(job.kind, job.queue)
        return Seen(job if sees and job.state in states else None, facts.closed_at)

    async def _facts(self, row: Row, begin: Cursor) -> Facts | None:
        """The facts of the run, or of the one in which its job goes on by now; `None` when the job is gone, or that
        other run has a place of its own in the list."""
        try:
            facts = await self._fetch(row.id, row.run_id)
            if facts.status is not WorkflowExecutionStatus.CONTINUED_AS_NEW:
                return facts
            if facts.closed_at is None or facts.closed_at <= begin.newest:  # the next run began then
                return None
            facts = await self._fetch(row.id)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        return None if facts.closed_at is not None and facts.closed_at <= begin.cutoff else facts

    async def _fetch(self, job_id: str, run_id: str = "") -> Facts:
        return await fetch(self._client, job_id, run_id)

    def _told(self, row: Row) -> JobSummary:
        """A finished job by the index alone."""
        return JobSummary(
            id=row.id,
            run_id=row.run_id,
            kind=row.kind or "",
            queue=row.queue or "",
            state=state_of(row.facts(), datetime.now(UTC)),
            tags=list(row.tags or ()),
            created_at=row.started_at,
            due_at=row.due_at or row.started_at,
            finished_at=row.closed_at,
            schedule_id=row.schedule_id,
            nominal_time=row.nominal_time,
            pipeline_id=row.pipeline_id,
            links=self._reader.links(row.id),
        )
