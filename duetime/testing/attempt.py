"""One attempt in the fake: the very runtime that workers use, with the fake in the place of the server."""

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

from temporalio.activity import ActivityCancellationDetails
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from duetime.contracts.instants import format_instant
from duetime.contracts.record import Assignment, Attempt, Sign, read_sign
from duetime.contracts.states import AttemptOutcome
from duetime.handlers import Handler
from duetime.runtime.attempt import Tools
from duetime.worker import as_activity

#: Who runs attempts here.
WORKER = "fake-worker"
_DIED = "duetime.testing.WorkerDied"
_DIED_UNHEARD = f"{_DIED} unheard"


class WorkerDied(ApplicationError):
    """Raise it in a handler under test: its worker dies there, and the job comes back when the lease runs out.

    The attempt counts as acknowledged and uses up one of `max_attempts`, as one does that ran for a second or more.
    With `acknowledged=False` it costs none, as one whose worker died before its first sign of life.
    """

    def __init__(self, *, acknowledged: bool = True) -> None:
        kind = _DIED if acknowledged else _DIED_UNHEARD
        super().__init__("the worker died", type=kind, non_retryable=True)


def last_sign_of_the_dead(error: ApplicationError, before: list[Any]) -> list[Any] | None:
    """The heartbeat details that a worker left which died so; `None` for any other failure."""
    if error.type == _DIED_UNHEARD:
        return before
    if error.type != _DIED:
        return None
    record = (read_sign(error.details) or Sign()).record
    last = record.attempts[-1].model_copy(
        update={"outcome": AttemptOutcome.RUNNING, "finished_at": None, "error": None}
    )
    return [Sign(record=record.with_attempt(last)).compact()]


class FakeAttempt:
    """One attempt under way, in the loop that made it. `changed` is called whenever it says something."""

    def __init__(
        self,
        handler: Handler,
        assignment: Assignment,
        payload: Any,
        started_at: datetime,
        details: list[Any],
        changed: Callable[[], None],
    ) -> None:
        self.started_at = started_at
        self.token = assignment.record.token_at(started_at)
        self.details = details
        self.worker = WORKER
        #: When the lease of a worker that died runs out.
        self.lost_at: datetime | None = None
        #: The handler waits for the fake itself, so time may pass meanwhile.
        self.waits = 0
        self._handler, self._assignment, self._payload = handler, assignment, payload
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._cancelled: ActivityCancellationDetails | None = None
        self._env = ActivityEnvironment()
        self._env.info = dataclasses.replace(
            self._env.info,
            activity_id=assignment.dispatch,
            activity_type=assignment.kind,
            task_queue=assignment.queue,
            workflow_id=assignment.id,
            workflow_run_id=assignment.run_id,
            started_time=started_at,
            heartbeat_details=list(details),
            heartbeat_timeout=timedelta(seconds=assignment.lease),
            start_to_close_timeout=timedelta(seconds=assignment.timeout),
        )
        self._env.on_heartbeat = self._hear

    def begun(self, number: int) -> Attempt:
        """The attempt as the server tells it before its worker was heard of."""
        return Attempt(
            number=number,
            fencing_token=self.token,
            worker=WORKER,
            started_at=self.started_at,
            dispatch=self._assignment.dispatch,
        )

    async def run(self, clock: Callable[[], datetime]) -> Any:
        """What the activity returned; raises what it raised. Times in both are those of the fake's clock."""
        job = self._assignment.model_dump(mode="json", exclude_defaults=True)
        activity = as_activity(self._handler, Tools(cast(Client, self), WORKER))
        try:
            return _on_clock(await self._env.run(activity, self._payload, job), clock())
        except ApplicationError as error:
            for said in error.details:
                _on_clock(said, clock())
            raise
        finally:
            for said in self.details:
                _on_clock(said, clock())

    def cancel(self, details: ActivityCancellationDetails) -> None:
        """Tells the handler to stop. From any thread."""
        self._cancelled = details
        self._loop.call_soon_threadsafe(self._env.cancel, details)

    # -- in the place of the server's connection ----------------------------------------------------------

    def get_async_activity_handle(self, *, task_token: bytes) -> "FakeAttempt":
        return self

    async def heartbeat(self, *details: Any, rpc_timeout: timedelta | None = None) -> None:
        if self._cancelled is not None and self._cancelled.not_found:
            raise RPCError("the attempt is over", RPCStatusCode.NOT_FOUND, b"")
        self._hear(*details)
        if self._cancelled is not None:
            raise AsyncActivityCancelledError(self._cancelled)

    def _hear(self, *details: Any) -> None:
        if self._cancelled is None or not self._cancelled.not_found:
            self.details = list(details)
            self._changed()


def _on_clock(said: Any, now: datetime) -> Any:
    """The runtime takes its times from the machine; here time is the fake's."""
    record = said.get("record") if isinstance(said, dict) else None
    last = (record.get("attempts") or [{}])[-1] if isinstance(record, dict) else {}
    if "finished_at" in last:
        last["finished_at"] = format_instant(now)
    if isinstance(record, dict) and isinstance(record.get("progress"), dict):
        record["progress"]["at"] = format_instant(now)
    return said
