"""Whether any worker polls a queue. A poll lasts a minute at most, so one that lives was seen since."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from api.patience import answer_in_time
from duetime.jobs.wire import instant

#: How long after its last sign a poller counts as alive.
SEEN_WITHIN = timedelta(seconds=70)
_FRESH = 5.0
#: That nobody polls is looked up again sooner: whoever has just started a worker must not read that there is none.
_ABSENT_FRESH = 0.5
_REMEMBERED = 10_000


class Pollers:
    """Looks queues up, each at most every few seconds, and twice a second while nobody polls it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seen: dict[str, tuple[float, bool]] = {}
        self._looking: dict[str, asyncio.Future[bool]] = {}

    async def live(self, queue: str) -> bool:
        """Whether a worker polled `queue` for activities within the last minute or so."""
        looked_at, found = self._seen.get(queue, (float("-inf"), False))
        if time.monotonic() - looked_at > (_FRESH if found else _ABSENT_FRESH):
            found = await self._look_once(queue)
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen[queue] = (time.monotonic(), found)
        return found

    async def _look_once(self, queue: str) -> bool:
        """One call for all who ask at the same time: a burst of submissions is mostly for one queue."""
        looking = self._looking.get(queue)
        if looking is None:
            looking = self._looking[queue] = asyncio.ensure_future(self._look(queue))
            looking.add_done_callback(lambda done: self._forget(queue, done))
        return await asyncio.shield(looking)

    def _forget(self, queue: str, done: asyncio.Future[bool]) -> None:
        del self._looking[queue]
        if not done.cancelled():
            done.exception()  # Those who asked may all be gone; nobody else has to hear of it.

    async def _look(self, queue: str) -> bool:
        described = await answer_in_time(
            self._client.workflow_service.describe_task_queue(
                DescribeTaskQueueRequest(
                    namespace=self._client.namespace,
                    task_queue=TaskQueue(name=queue),
                    task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
                )
            )
        )
        since = datetime.now(UTC) - SEEN_WITHIN
        return any(instant(poller.last_access_time) > since for poller in described.pollers)
