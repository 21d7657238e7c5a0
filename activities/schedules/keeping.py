"""Writing the server's schedule, and taking it away."""

import asyncio
import uuid
from datetime import UTC, datetime
from typing import Any

from temporalio import activity
from temporalio.api.workflowservice.v1 import UpdateScheduleRequest
from temporalio.client import Client, Schedule, ScheduleAlreadyRunningError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.schedules.names import APPLY, FOREIGN, LOOK, REFUSED, REMOVE
from activities.schedules.server import look
from duetime.contracts.schedule_book import Book, Server
from duetime.cron.errors import RuleError
from duetime.schedules.missed import reach_of_edit
from duetime.schedules.native import native_of
from duetime.schedules.times import expected

#: Looks after a write, and seconds between them, until it is written again.
_LOOKS, _PAUSE = 20, 0.1


class Keeping:
    """Holds the server's schedules to their books; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=LOOK)
    async def look(self, schedule_id: str) -> dict[str, Any]:
        """How the server's schedule stands."""
        return (await look(self._client, schedule_id)).model_dump(mode="json", exclude_defaults=True)

    @activity.defn(name=APPLY)
    async def apply(self, book: dict[str, Any], seen: dict[str, Any] | None = None) -> dict[str, Any]:
        """Makes the server's schedule what the book says.

        `{"renew_at", "exact_until", "zones_version", "window", "near"}`: `window` is the server's catch-up window in
        seconds; `near` tells of times just before this write, which the server starts no more. `seen` is how the
        server's schedule stood just now, if somebody has looked.
        """
        wanted = Book.model_validate(book)
        now = datetime.now(UTC)
        try:
            native = native_of(wanted, now)
        except RuleError as error:
            raise ApplicationError(str(error), type=REFUSED, non_retryable=True) from None
        server = await look(self._client, wanted.id) if seen is None else Server.model_validate(seen)
        if server.exists and not server.applied:
            raise ApplicationError(
                "Temporal has a schedule of this id that Duetime did not make",
                type=FOREIGN,
                non_retryable=True,
            )
        await self._write(wanted, native.schedule, server)
        done = datetime.now(UTC)
        compiled = native.compiled
        near = expected(wanted, reach_of_edit(wanted, wanted.parsed, now), done)
        return {
            "renew_at": compiled.renew_at.isoformat() if compiled.renew_at else None,
            "exact_until": compiled.exact_until.isoformat() if compiled.exact_until else None,
            "zones_version": compiled.zones_version,
            "window": native.window.total_seconds(),
            "near": bool(near),
        }

    @activity.defn(name=REMOVE)
    async def remove(self, schedule_id: str) -> None:
        """Deletes the server's schedule; runs that are open go on."""
        try:
            await self._client.get_schedule_handle(schedule_id).delete()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise

    async def _write(self, book: Book, schedule: Schedule, server: Server) -> None:
        for _ in range(3):
            if not _is_done(book, server):
                await self._send(book, schedule, server)
            for _ in range(_LOOKS):
                server = await look(self._client, book.id)
                if _is_done(book, server):
                    return
                await asyncio.sleep(_PAUSE)
        raise ApplicationError("the server's schedule does not become what it was told to be")

    async def _send(self, book: Book, schedule: Schedule, server: Server) -> None:
        try:
            if not server.exists:
                await self._client.create_schedule(book.id, schedule)
                return
        except ScheduleAlreadyRunningError:
            pass
        except RPCError as error:
            raise _refused(error) from None

        try:
            await self._client.workflow_service.update_schedule(
                UpdateScheduleRequest(
                    namespace=self._client.namespace,
                    schedule_id=book.id,
                    # The SDK's own update reads the schedule first, for a caller who changes what is there.
                    schedule=await schedule._to_proto(self._client),
                    identity=self._client.identity,
                    request_id=str(uuid.uuid4()),
                ),
                retry=True,
            )
        except RPCError as error:
            raise _refused(error) from None


def _is_done(book: Book, server: Server) -> bool:
    return server.exists and server.applied == book.applied and server.paused == (book.pause is not None)


def _refused(error: RPCError) -> Exception:
    if error.status is RPCStatusCode.INVALID_ARGUMENT:
        return ApplicationError(error.message, type=REFUSED, non_retryable=True)
    return error
