"""Runs for times of the past, a few at a time or one after the other, each once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import islice
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from activities.schedules.names import BACKFILL
from activities.schedules.starting import Reuse, start_run
from duetime.contracts.instants import format_instant
from duetime.contracts.schedule_book import MADE_BY, Backfill, Book
from duetime.schedules.backfills import times_of
from duetime.schedules.ids import run_id
from duetime.schedules.native import made_by

#: Open at once where runs may overlap, and dealt with before the entity takes it down.
AT_ONCE, BATCH = 10, 100
#: Behind everything that is due now.
PRIORITY = 5
_HEARTBEAT = 2.0


class Backfilling:
    """Starts the runs of backfills; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=BACKFILL)
    async def backfill(self, book: dict[str, Any], backfill: dict[str, Any]) -> dict[str, Any]:
        """The next hundred times: `{"cursor", "started", "left", "done"}`.

        Returns when their runs have ended. Done again after a crash, it finds those that it started.
        """
        kept, wanted = Book.model_validate(book), Backfill.model_validate(backfill)
        times = list(islice(times_of(kept, wanted), BATCH))
        places = asyncio.Semaphore(AT_ONCE if wanted.overlap == "allow" else 1)

        async def one(nominal: datetime) -> bool:
            async with places:
                return await self._run(kept, wanted, nominal)

        async with _heartbeats():
            started = await asyncio.gather(*(one(nominal) for nominal in times))
        return {
            "cursor": format_instant(times[-1] if times else wanted.end),
            "started": sum(started),
            "left": len(started) - sum(started),
            "done": len(times) < BATCH,
        }

    async def _run(self, book: Book, backfill: Backfill, nominal: datetime) -> bool:
        """Starts the run of one time and waits for its end; `False` when another run has that time."""
        job_id = run_id(book.id, nominal)
        if not await self._is_ours(job_id, backfill):
            run = await start_run(
                self._client,
                book,
                job_id,
                nominal,
                reuse=Reuse.ANY if backfill.force else Reuse.UNSUCCESSFUL,
                request_id=f"{backfill.id}-{format_instant(nominal)}",
                priority=PRIORITY,
                memo=made_by(book, backfill=backfill.id),
            )
            if run is None:
                return False
        # However it ended: whoever looks at the run sees that.
        with contextlib.suppress(WorkflowFailureError):
            await self._client.get_workflow_handle(job_id).result()
        return True

    async def _is_ours(self, job_id: str, backfill: Backfill) -> bool:
        """Whether this backfill has started the newest run of a time already."""
        try:
            memo = await (await self._client.get_workflow_handle(job_id).describe()).memo()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        made = memo.get(MADE_BY)
        return isinstance(made, dict) and made.get("backfill") == backfill.id


@contextlib.asynccontextmanager
async def _heartbeats() -> AsyncIterator[None]:
    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(_HEARTBEAT)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
