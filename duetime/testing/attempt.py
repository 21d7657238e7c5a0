"""One attempt in the fake: the very runtime that workers use, with the fake in the place of the server."""

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from temporalio.activity import ActivityCancellationDetails
from temporalio.api.workflowservice.v1 import (
    RecordActivityTaskHeartbeatRequest,
    RecordActivityTaskHeartbeatResponse,
    RespondActivityTaskCompletedRequest,
    RespondActivityTaskFailedRequest,
)
from temporalio.client import Client
from temporalio.converter import DataConverter
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
        self.worker = WORKER
        #: When the lease of a worker that died runs out.
        self.lost_at: datetime | None = None
        #: The handler waits for the fake itself, so time may pass meanwhile.
        self.waits = 0
        self._handler, self._assignment, self._payload = handler, assignment, payload
        self._server = _Server(details, changed)
        self._loop = asyncio.get_running_loop()
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
        """What the attempt returned; raises what it failed with. Times in both are those of the fake's clock."""
        job = self._assignment.model_dump(mode="json", exclude_defaults=True)
        activity = as_activity(self._handler, Tools(cast(Client, self._server), WORKER))
        try:
            await self._env.run(activity, self._payload, job)
        except BaseException as ended:
            # The runtime tells the server by itself, then ends the activity by an exception of the SDK.
            if self._server.ending is None:
                raise ended from None
        # Attempts that begin at one time differ by microseconds, so that their tokens grow.
        return self._server.read(max(clock(), self.started_at))

    @property
    def details(self) -> list[Any]:
        """What it said last with its heartbeats, or what those before it said."""
        return self._server.details

    def cancel(self, details: ActivityCancellationDetails) -> None:
        """Tells the handler to stop. From any thread."""
        self._server.cancelled = details
        self._loop.call_soon_threadsafe(self._env.cancel, details)


class _Server:
    """In the place of the connection to the server: hears one attempt."""

    namespace = "fake"
    identity = WORKER
    service_client = SimpleNamespace(config=SimpleNamespace(identity=WORKER))
    data_converter = DataConverter.default

    def __init__(self, details: list[Any], changed: Callable[[], None]) -> None:
        self.details = list(details)
        self.cancelled: ActivityCancellationDetails | None = None
        #: What the attempt ended with: what it returned, or its failure.
        self.ending: tuple[Any] | ApplicationError | None = None
        self._changed = changed

    @property
    def workflow_service(self) -> "_Server":
        return self

    def read(self, now: datetime) -> Any:
        """What the attempt returned; raises what it failed with."""
        for said in self.details:
            _on_clock(said, now)
        if isinstance(self.ending, tuple):
            return _on_clock(self.ending[0], now)
        assert self.ending is not None
        for said in self.ending.details:
            _on_clock(said, now)
        raise self.ending

    async def record_activity_task_heartbeat(
        self, request: RecordActivityTaskHeartbeatRequest, **_: Any
    ) -> RecordActivityTaskHeartbeatResponse:
        self._refuse_the_old()
        self.details = await self.data_converter.decode(request.details.payloads)
        self._changed()
        return RecordActivityTaskHeartbeatResponse(cancel_requested=self.cancelled is not None)

    async def respond_activity_task_completed(
        self, request: RespondActivityTaskCompletedRequest, **_: Any
    ) -> None:
        self._refuse_the_old()
        (result,) = await self.data_converter.decode(request.result.payloads)
        self.ending = (result,)

    async def respond_activity_task_failed(self, request: RespondActivityTaskFailedRequest, **_: Any) -> None:
        self._refuse_the_old()
        if request.HasField("last_heartbeat_details"):
            self.details = await self.data_converter.decode(request.last_heartbeat_details.payloads)
        error = await self.data_converter.decode_failure(request.failure)
        assert isinstance(error, ApplicationError)
        self.ending = error

    def _refuse_the_old(self) -> None:
        if self.cancelled is not None and self.cancelled.not_found:
            raise RPCError("the attempt is over", RPCStatusCode.NOT_FOUND, b"")


def _on_clock(said: Any, now: datetime) -> Any:
    """The runtime takes its times from the machine; here time is the fake's."""
    record = said.get("record") if isinstance(said, dict) else None
    last = (record.get("attempts") or [{}])[-1] if isinstance(record, dict) else {}
    if "finished_at" in last:
        last["finished_at"] = format_instant(now)
    if isinstance(record, dict) and isinstance(record.get("progress"), dict):
        record["progress"]["at"] = format_instant(now)
    return said
