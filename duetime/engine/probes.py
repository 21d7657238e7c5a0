"""Is a part of the service ready? Asked from outside, as its users would."""

from collections.abc import Collection, Iterable

import httpx2
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

WORKFLOWS = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
ACTIVITIES = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY

#: A task queue is a name and what is polled there.
Lane = tuple[str, "TaskQueueType.ValueType"]


async def answers_200(url: str) -> bool:
    """Whether an HTTP GET of `url` is answered with 200."""
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
            return (await http.get(url)).status_code == 200
    except httpx2.HTTPError:
        return False


class LanesPolled:
    """Whether workers have polled all of some lanes since this was created.

    The server remembers pollers for minutes after their death, so those of the past are noted first, by
    `remember`, and only a poll after that counts.
    """

    def __init__(self, client: Client, lanes: Iterable[Lane]) -> None:
        self._client = client
        self._open = list(lanes)
        self._past: dict[Lane, dict[str, int]] = {}

    async def remember(self) -> None:
        """Note who polled before the worker that is about to start."""
        self._past = {lane: _by_identity(await self._pollers(lane)) for lane in self._open}

    async def __call__(self) -> bool:
        for lane in list(self._open):
            if is_polled(_by_identity(await self._pollers(lane)), self._past.get(lane, {})):
                self._open.remove(lane)
        return not self._open

    async def _pollers(self, lane: Lane) -> Collection[PollerInfo]:
        name, kind = lane
        request = DescribeTaskQueueRequest(
            namespace=self._client.namespace, task_queue=TaskQueue(name=name), task_queue_type=kind
        )
        try:
            return (await self._client.workflow_service.describe_task_queue(request)).pollers
        except RPCError:
            return ()


def is_polled(now: dict[str, int], before: dict[str, int]) -> bool:
    """Whether somebody polls: a new identity, or a later poll of one known before."""
    return any(last > before.get(identity, -1) for identity, last in now.items())


def _by_identity(pollers: Collection[PollerInfo]) -> dict[str, int]:
    return {poller.identity: poller.last_access_time.ToNanoseconds() for poller in pollers}
