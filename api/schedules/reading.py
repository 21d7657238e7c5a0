"""Reading schedules: the entity's memo, the server's own schedule, and its runs. No worker need be alive."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.schedules.runs import last_runs, runs_between
from activities.schedules.server import look
from api.patience import in_time
from api.problems import Problem, is_unknown_id, unknown
from api.schedules.views import summary_of, view_of
from api.security.caller import ANYBODY, Caller
from duetime.contracts import limits
from duetime.contracts.schedule_book import BOOK, SCHEDULE, SPEC, Book
from duetime.contracts.schedule_view import (
    OccurrencePage,
    ScheduleLinks,
    ScheduleSummary,
    ScheduleView,
)
from duetime.schedules.account import Seen, account
from duetime.schedules.changes import adopted
from duetime.schedules.ids import entity_id
from duetime.schedules.work import jobs_of

_LAST_RUNS = 10
_PAGE = 200


def no_such_schedule(schedule_id: str) -> Problem:
    """`404`, in the same words for a schedule that is not there and for one that the caller may not see."""
    return unknown(f"no schedule has the id {schedule_id[:250]!r}")


@dataclass(frozen=True)
class ScheduleReader:
    """Reads schedules. What `caller` may not see is unknown."""

    client: Client
    ui_url: str
    caller: Caller = ANYBODY

    @in_time()
    async def find(self, schedule_id: str) -> Book | None:
        """The book of a schedule, whoever may see it; `None` when there is none."""
        try:
            found = await self.client.get_workflow_handle(entity_id(schedule_id)).describe()
        except RPCError as error:
            if is_unknown_id(error):
                return None
            raise
        return await read_book(found)

    async def book(self, schedule_id: str) -> Book:
        """The book of a schedule that the caller may see; a `404` problem for any other."""
        book = await self.find(schedule_id)
        if book is None or not self.sees(book):
            raise no_such_schedule(schedule_id)
        return book

    def sees(self, book: Book) -> bool:
        """Whether the schedule exists for the caller: a key that is bound must see every job of it."""
        return not self.caller.is_bound or all(
            self.caller.may_see(job.kind, job.queue) for job in jobs_of(book)
        )

    @in_time()
    async def view(self, schedule_id: str) -> ScheduleView:
        """The schedule now."""
        book, server, runs, successes = await asyncio.gather(
            self.book(schedule_id),
            look(self.client, schedule_id),
            last_runs(self.client, schedule_id, _LAST_RUNS),
            last_runs(self.client, schedule_id, 1, "ExecutionStatus = 'Completed'"),
        )
        now = datetime.now(UTC)
        links = self._links(schedule_id, is_pipeline=book.pipeline is not None)
        return view_of(book, server, runs, successes[0] if successes else None, now, links)

    @in_time()
    async def occurrences(self, schedule_id: str, since: datetime, until: datetime) -> OccurrencePage:
        """The times of the span and what became of them."""
        book, server, kept = await asyncio.gather(
            self.book(schedule_id), look(self.client, schedule_id), self._remembered()
        )
        now = datetime.now(UTC)
        runs = await runs_between(self.client, schedule_id, since, min(until, now)) if since <= now else []
        seen = Seen(adopted(book, server, now), server, runs, now, now - kept)
        rows = account(seen, since, until, limits.OCCURRENCES + 1)
        following = rows[limits.OCCURRENCES].nominal_time if len(rows) > limits.OCCURRENCES else None
        return OccurrencePage(occurrences=rows[: limits.OCCURRENCES], next_from=following)

    async def books(self) -> AsyncIterator[Book]:
        """The books of all schedules that the caller may see, in no order; a moment behind."""
        query = f"WorkflowType = '{SCHEDULE}' AND ExecutionStatus = 'Running'"
        pages = self.client.list_workflows(query, page_size=_PAGE)
        while True:
            async with in_time():  # a page, not all of them: there may be thousands
                await pages.fetch_next_page()
            for found in pages.current_page or ():
                book = await read_book(found)
                if book is not None and self.sees(book):
                    yield book
            if not pages.next_page_token:
                return

    async def summaries(self) -> AsyncIterator[ScheduleSummary]:
        """All schedules that the caller may see, in no order; a moment behind."""
        now = datetime.now(UTC)
        async for book in self.books():
            yield summary_of(book, now)

    async def _remembered(self) -> Any:
        """For how long the server remembers what has ended."""
        described = await self.client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=self.client.namespace), retry=True
        )
        return described.config.workflow_execution_retention_ttl.ToTimedelta()

    def _links(self, schedule_id: str, *, is_pipeline: bool) -> ScheduleLinks:
        place = quote(schedule_id, safe=":")
        return ScheduleLinks(
            self=f"/v1/schedules/{place}",
            jobs=f"/v1/jobs?schedule_id={place}",
            pipelines=f"/v1/pipelines?schedule_id={place}" if is_pipeline else None,
            occurrences=f"/v1/schedules/{place}/occurrences",
            temporal=f"{self.ui_url}/namespaces/{self.client.namespace}/schedules/{place}",
        )


async def read_book(found: WorkflowExecution) -> Book | None:
    """The book in the memo of an entity; `None` for one that is deleted, or has none yet."""
    if found.workflow_type != SCHEDULE or found.status is not WorkflowExecutionStatus.RUNNING:
        return None
    memo = await found.memo()
    try:
        return Book.model_validate(memo[BOOK] | memo[SPEC])
    except (KeyError, TypeError, ValidationError):
        return None
