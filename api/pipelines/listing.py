"""Lists of pipelines: open ones read from their executions, finished ones as the search index tells them."""

import asyncio
import contextlib
import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from pydantic import ValidationError
from temporalio.client import Client, WorkflowExecutionStatus

from api.jobs.cursor import Cursor, read, write
from api.jobs.index import Index, Row
from api.jobs.pages import Page, Seen, fill
from api.jobs.walk import Walk
from api.patience import answer_in_time
from api.pipelines.facts import PipelineFacts
from api.pipelines.filters import PipelineFilter
from api.pipelines.reading import PipelineReader
from api.pipelines.state import open_or_final, state_of
from api.security.caller import ANYBODY, Caller
from api.together import together
from duetime.contracts.pipeline_state import PROGRESS, STATE_OF, Mark, Progress
from duetime.contracts.pipeline_view import PipelinePage, PipelineSummary
from duetime.contracts.states import State
from duetime.contracts.view import ErrorView
from duetime.jobs.wire import decode

#: Executions read at the same time, over all lists that an API instance is asked for.
_AT_ONCE = 16


@dataclass
class _Page(Page[PipelineSummary]):
    """A page of pipelines."""

    wanted: PipelineFilter = field(kw_only=True)


class PipelineLister:
    """Fills pages."""

    def __init__(self, client: Client, reader: PipelineReader) -> None:
        self._client = client
        self._reader = reader
        # Pipelines are of many kinds and queues and have none in the index: what a key may see is looked up.
        self._index = Index(client)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._caller = ANYBODY

    def seen_by(self, caller: Caller, reader: PipelineReader) -> "PipelineLister":
        """The same for another caller, who reads with `reader`."""
        other = copy.copy(self)
        other._caller, other._reader = caller, reader
        return other

    async def page(self, wanted: PipelineFilter, limit: int, cursor: str | None) -> PipelinePage:
        """The pipelines after `cursor`, or the first ones; a `422` problem for a cursor of another list."""
        scope = f"{self._client.namespace}\n{wanted.canonical()}"
        at = read(cursor, scope) if cursor is not None else None
        page = _Page(limit, wanted=wanted)
        walk = Walk(self._index, wanted, wanted.among)
        then = await answer_in_time(fill(page, walk, at, partial(self._see, page)))
        return PipelinePage(pipelines=page.items, next_cursor=write(then, scope) if then else None)

    async def _see(self, page: _Page, rows: list[Row], begin: Cursor) -> list[Seen[PipelineSummary]]:
        """The rows as pipelines, in their order."""
        return await together(self._look(page, row, begin) for row in rows)

    async def _look(self, page: _Page, row: Row, begin: Cursor) -> Seen[PipelineSummary]:
        """A row as a pipeline."""
        continued = row.status is WorkflowExecutionStatus.CONTINUED_AS_NEW
        if continued and (row.closed_at is None or row.closed_at <= begin.newest):
            return Seen(None)  # the run in which it goes on has a place of its own
        if not (row.is_open or continued or self._caller.is_bound):
            return Seen(await self._told(row))
        page.read += 1
        async with self._places:
            facts = await self._reader.known(row.id)
        if facts is None:
            return Seen(None)
        if facts.run_id != row.run_id and not (row.is_open or continued):
            return Seen(await self._told(row))  # a finished run that a later one has followed
        if facts.closed_at is not None and facts.closed_at <= begin.cutoff and continued:
            return Seen(None)
        summary = self._summary(facts)
        return Seen(summary if page.wanted.holds(summary.state) else None, facts.closed_at)

    async def _told(self, row: Row) -> PipelineSummary:
        """A finished pipeline by the index alone."""
        progress = Progress()
        if PROGRESS in row.memo:
            with contextlib.suppress(ValidationError):
                progress = Progress.model_validate(await decode(self._client, row.memo[PROGRESS]))
        return PipelineSummary(
            id=row.id,
            run_id=row.run_id,
            state=open_or_final(row.status, row.outcome, is_known=True),
            created_at=row.started_at,
            finished_at=row.closed_at,
            counts=counts_of(map(Mark, progress.marks), is_open=False),
            links=self._reader.links(row.id),
        )

    def _summary(self, facts: PipelineFacts) -> PipelineSummary:
        error = facts.error
        return PipelineSummary(
            id=facts.id,
            run_id=facts.run_id,
            state=state_of(facts),
            created_at=facts.started_at,
            finished_at=facts.closed_at,
            counts=counts_of(facts.marks.values(), is_open=facts.is_open),
            error=ErrorView(type=error.type, message=error.message) if error else None,
            links=self._reader.links(facts.id),
        )


def counts_of(marks: Iterable[Mark], *, is_open: bool) -> dict[State, int]:
    """How many jobs are in each state, as far as the pipeline itself knows: one under way counts as `running`."""
    under_way = State.RUNNING if is_open else State.CANCELLED
    waiting = State.WAITING if is_open else State.SKIPPED
    open_marks = {Mark.BEGUN: under_way, Mark.WAITING: waiting}
    return dict(Counter(open_marks.get(mark) or STATE_OF[mark] for mark in marks))
