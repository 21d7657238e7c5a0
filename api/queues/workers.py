"""The workers of a queue that live: by their signs of life, and without those by their polls.

The server lists everyone who polled in the last five minutes, the dead included. Workers of ours tell every two seconds
that they live (`ListWorkers` of Temporal's WorkflowService); an SDK without such signs is known by its polls alone, one
of which lasts a minute at most. The polls of our workers promise those signs: who broke that promise is dead.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from temporalio.api.enums.v1 import WorkerStatus
from temporalio.api.worker.v1 import WorkerHeartbeat
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, ListWorkersRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.jobs import query
from api.kinds.pollers import SEEN_WITHIN
from duetime.jobs.wire import instant, when
from duetime.observe.runtime import OFTEN, SIGN_OF_LIFE

#: How long after its poll a worker that promised signs of life counts as alive without any.
FIRST_SIGN = 3 * SIGN_OF_LIFE + timedelta(seconds=1)
_PAGE = 500
#: Seconds between two questions whether the server keeps signs at all.
_KEPT_FOR = 60.0
#: A server, or a credential, that does not tell.
_NOT_FOR_US = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED)
_MOST = 5_000
_REMEMBERED = 20_000


@dataclass(frozen=True)
class Poll:
    """Somebody who polled a queue."""

    identity: str
    polled_at: datetime
    #: Whether it said that it gives signs of life every two seconds.
    promises: bool = False

    def is_broken(self, now: datetime) -> bool:
        """Whether the first sign should have come by now: its worker died before that."""
        return self.promises and self.polled_at < now - FIRST_SIGN


@dataclass(frozen=True)
class Sign:
    """What one worker said last."""

    instance: str
    identity: str
    queue: str
    said_at: datetime
    #: From the sign before to this one; of a first one as promised, or zero.
    interval: timedelta
    leaves: bool = False
    host: str = ""
    started_at: datetime | None = None
    #: Of attempts; `None` when it does not say.
    used: int | None = None
    free: int | None = None

    @property
    def patience(self) -> timedelta:
        """How long after a sign the worker counts as alive: three of its own intervals, or a missed long one."""
        if not self.interval:
            return SEEN_WITHIN
        return min(3 * self.interval + timedelta(seconds=1), self.interval + timedelta(seconds=10))

    def accounts_for(self, poll: Poll, now: datetime) -> bool:
        """Whether it is this worker's poll, alive or not.

        One that is made when this worker was long silent, or gone, may be of another that has the same identity: a
        process that was started anew. That one gives a sign of its own soon. Where none comes the poll is an old one of
        a frozen worker, which the server closed, or filled with a task for nobody.
        """
        if poll.identity != self.identity:
            return False
        if self.leaves:
            return poll.polled_at <= self.said_at
        return poll.polled_at <= self.said_at + self.patience or now - poll.polled_at > self.first_sign

    @property
    def first_sign(self) -> timedelta:
        """How long a worker like this one may take from its first poll to its first sign."""
        return 2 * self.interval + timedelta(seconds=1) if self.interval else SEEN_WITHIN


@dataclass(frozen=True)
class Told:
    """What workers said last. `is_all` says that there is no worker whose sign is not among these."""

    signs: list[Sign]
    is_all: bool = False


@dataclass(frozen=True)
class Worker:
    """A worker of a queue that lives. `slots` is how many attempts it runs at once, if it says so."""

    identity: str
    seen_at: datetime
    host: str = ""
    started_at: datetime | None = None
    slots: int | None = None
    busy: int | None = None
    told_by: Literal["heartbeat", "poll"] = "heartbeat"


def slots_of(workers: Iterable[Worker]) -> int | None:
    """How many attempts they run at once; `None` when one of them does not say."""
    return _sum(worker.slots for worker in workers)


def busy_of(workers: Iterable[Worker]) -> int | None:
    """How many attempts they run now; `None` when one of them does not say."""
    return _sum(worker.busy for worker in workers)


def _sum(told: Iterable[int | None]) -> int | None:
    total = 0
    for one in told:
        if one is None:
            return None
        total += one
    return total


def living(told: Told, polls: Iterable[Poll], silent: dict[str, timedelta], now: datetime) -> list[Worker]:
    """Who lives. `silent` tells by instance how long ago its last sign was."""
    signs = told.signs
    recent = {poll.identity: poll for poll in polls if poll.polled_at > now - SEEN_WITHIN}
    found = [
        Worker(
            sign.identity,
            sign.said_at,
            sign.host,
            sign.started_at,
            None if sign.used is None or sign.free is None else sign.used + sign.free,
            sign.used,
        )
        for sign in signs
        if not sign.leaves and silent[sign.instance] <= sign.patience and _takes(sign, recent)
    ]
    found += [
        Worker(poll.identity, poll.polled_at, told_by="poll")
        for poll in recent.values()
        if not any(sign.accounts_for(poll, now) for sign in signs)
        and not (told.is_all and poll.is_broken(now))
    ]
    return sorted(found, key=lambda worker: worker.identity)


def _takes(sign: Sign, recent: dict[str, Poll]) -> bool:
    """Whether it runs attempts at all: a worker may serve workflows alone. A first sign tells no numbers."""
    return sign.identity in recent or sign.used is None or sign.used + (sign.free or 0) > 0


@dataclass(frozen=True)
class _Heard:
    """A sign, and by our own clock (monotonic seconds) when we saw it first, and when it was said."""

    said_at: datetime
    seen: float
    said: float


class Signs:
    """Reads signs of life. How old one is, is told by our own clock from the second look on: clocks may differ."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._heard: dict[str, _Heard] = {}
        self._kept: tuple[float, bool] = (float("-inf"), False)

    async def read(self, queue: str | None = None) -> Told:
        """The last signs on one queue, or on all; none from a server that keeps none."""
        are_kept = await self._are_kept()
        text = f"TaskQueue = {query.literal(queue)}" if queue else ""
        found: list[Sign] = []
        token = b""
        while len(found) < _MOST:
            try:
                answer = await self._client.workflow_service.list_workers(
                    ListWorkersRequest(
                        namespace=self._client.namespace, query=text, page_size=_PAGE, next_page_token=token
                    ),
                    retry=True,
                )
            except RPCError as error:
                if error.status in _NOT_FOR_US:
                    return Told([])
                raise
            found += [sign_of(info.worker_heartbeat) for info in answer.workers_info]
            token = answer.next_page_token
            if not token:
                break
        self.remember(found)
        return Told(found, is_all=are_kept and not token)

    async def _are_kept(self) -> bool:
        """Whether workers give this server signs at all: they do if it says that it wants them."""
        asked_at, are_kept = self._kept
        if time.monotonic() - asked_at > _KEPT_FOR:
            try:
                described = await self._client.workflow_service.describe_namespace(
                    DescribeNamespaceRequest(namespace=self._client.namespace), retry=True
                )
                are_kept = described.namespace_info.capabilities.worker_heartbeats
            except RPCError as error:
                if error.status not in _NOT_FOR_US:
                    raise
                are_kept = False
            self._kept = (time.monotonic(), are_kept)
        return are_kept

    def silent(self, signs: Iterable[Sign]) -> dict[str, timedelta]:
        """How long ago each worker said what it said last."""
        now = time.monotonic()
        return {sign.instance: timedelta(seconds=now - self._heard[sign.instance].said) for sign in signs}

    def remember(self, signs: Iterable[Sign]) -> None:
        """Takes down what was read just now."""
        now, today = time.monotonic(), datetime.now(UTC)
        if len(self._heard) > _REMEMBERED:
            self._heard.clear()
        for sign in signs:
            before = self._heard.get(sign.instance)
            if before is None:
                age = max(0.0, (today - sign.said_at).total_seconds())
                self._heard[sign.instance] = _Heard(sign.said_at, now, now - age)
            elif before.said_at != sign.said_at:
                self._heard[sign.instance] = _Heard(sign.said_at, now, _when_said(sign, before, now))


def _when_said(sign: Sign, before: _Heard, now: float) -> float:
    """It is as much later than the one before as the worker's own clock says: who looks rarely sees a new sign that
    may be old. A clock that was set back tells nothing, and then it is fresh."""
    later = (sign.said_at - before.said_at).total_seconds()
    return min(before.seen + later, now) if later > 0 else now


def _interval(said: WorkerHeartbeat) -> timedelta:
    """A worker that dies before its second sign (a job kills it, say) must not haunt its queue for a minute."""
    if not said.HasField("elapsed_since_last_heartbeat") and any(one.name == OFTEN for one in said.plugins):
        return SIGN_OF_LIFE
    return said.elapsed_since_last_heartbeat.ToTimedelta()


def sign_of(said: WorkerHeartbeat) -> Sign:
    """What a worker said, as the server keeps it."""
    slots = said.activity_task_slots_info
    # The first sign of a worker has no numbers yet.
    counted = said.HasField("elapsed_since_last_heartbeat")
    return Sign(
        instance=said.worker_instance_key,
        identity=said.worker_identity,
        queue=said.task_queue,
        said_at=instant(said.heartbeat_time),
        interval=_interval(said),
        leaves=said.status in (WorkerStatus.WORKER_STATUS_SHUTTING_DOWN, WorkerStatus.WORKER_STATUS_SHUTDOWN),
        host=said.host_info.host_name,
        started_at=when(said, "start_time"),
        used=slots.current_used_slots if counted else None,
        free=slots.current_available_slots if counted else None,
    )
