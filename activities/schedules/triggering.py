"""A run beside the rule.

Where runs may be in each other's way, the server starts it, so that it counts like any other; it names runs by the
second, hence one that nothing else of the schedule has. Where they may not, we start it ourselves.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.schedules.names import PICK, REFUSED, START, TRIGGER
from activities.schedules.server import look, trigger
from activities.schedules.starting import Reuse, start_run
from duetime.contracts.instants import format_instant, parse_instant
from duetime.contracts.schedule import Overlap
from duetime.contracts.schedule_book import Book
from duetime.schedules.ids import run_id
from duetime.schedules.native import OVERLAPS
from duetime.schedules.times import rule_times

#: How far ahead a free second is looked for.
_REACH = timedelta(minutes=10)
_SECOND = timedelta(seconds=1)


class Triggering:
    """Starts runs; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=PICK)
    async def pick(self, book: dict[str, Any], after: str | None) -> str:
        """A second for a run beside the rule: now or soon, later than `after`, none that the rule names."""
        kept = Book.model_validate(book)
        now = datetime.now(UTC).replace(microsecond=0)
        first = max(now, parse_instant(after) + _SECOND) if after else now
        taken = {fire.utc for fire in rule_times(kept, first - _SECOND, first + _REACH, with_excluded=True)}
        for step in range(_REACH // _SECOND):
            if (picked := first + step * _SECOND) not in taken:
                return format_instant(picked)
        raise ApplicationError(
            "the rule fires every second: there is no room for a run beside it",
            type=REFUSED,
            non_retryable=True,
        )

    @activity.defn(name=TRIGGER)
    async def trigger(self, book: dict[str, Any], nominal: str, overlap: Overlap) -> dict[str, Any]:
        """`{"job_id", "state": started | queued | skipped, "running"}`."""
        kept, at = Book.model_validate(book), parse_instant(nominal)
        before = await look(self._client, kept.id)
        info = activity.info()
        request_id = f"{info.workflow_run_id}-{info.activity_id}"
        server = await trigger(self._client, kept.id, at, OVERLAPS[overlap], request_id)
        job_id = run_id(kept.id, at)
        state = "started"
        # The rule's own times may be skipped or queued meanwhile: what there is a run of has started all the same.
        if job_id not in server.running and not await self._exists(job_id):
            if server.queued > before.queued:
                state = "queued"
            elif server.skipped > before.skipped:
                state = "skipped"
        return {"job_id": job_id, "state": state, "running": server.running}

    @activity.defn(name=START)
    async def start(self, book: dict[str, Any], job_id: str, nominal: str) -> None:
        """Starts a run that is in nobody's way."""
        kept = Book.model_validate(book)
        await start_run(
            self._client, kept, job_id, parse_instant(nominal), reuse=Reuse.NONE, request_id=job_id
        )

    async def _exists(self, job_id: str) -> bool:
        try:
            await self._client.get_workflow_handle(job_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True
