"""How long a queue was paused while a job waited in it: time that its `queue_timeout` does not count."""

from temporalio import activity
from temporalio.client import Client

from duetime.contracts.instants import parse_instant
from duetime.contracts.pauses import paused_between
from duetime.jobs.names import QUEUE_PAUSES as QUEUE_PAUSES
from duetime.queue_limit import queue_limit


class QueuePauses:
    """Looks queues up; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=QUEUE_PAUSES)
    async def measure(self, queue: str, since: str, until: str) -> dict[str, float]:
        """`{"paused": seconds between the two instants, "lasts": 1 while the queue is paused}`."""
        limit = await queue_limit(self._client, queue)
        paused = paused_between(limit.pauses, parse_instant(since), parse_instant(until))
        return {"paused": paused.total_seconds(), "lasts": float(limit.is_paused)}
