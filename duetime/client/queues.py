"""The part of the client that looks after the service: queues, the backlog, reasons, and the doctor."""

from typing import Literal
from urllib.parse import quote

from duetime.client.answer import read
from duetime.client.call import Call, job_path
from duetime.client.fields import wire
from duetime.client.sender import Sender
from duetime.contracts.queues import BacklogView, QueueList, QueueView
from duetime.contracts.why import WhyView
from duetime.doctor.findings import Report


class QueueCalls:
    """Queues and what is known of the whole."""

    _sender: Sender

    async def queues(self) -> QueueList:
        """Every known queue: what waits in it, who serves it, and what that means."""
        return read(QueueList, await self._sender.send(Call("GET", "/v1/queues")))

    async def queue(self, name: str) -> QueueView:
        """One queue, now."""
        return await self._queue(Call("GET", _path(name)))

    async def pause_queue(self, name: str, *, reason: str, by: str | None = None) -> QueueView:
        """Hands out nothing of a queue. What runs goes on."""
        return await self._queue(Call("POST", _path(name, ":pause"), body=wire({"reason": reason, "by": by})))

    async def resume_queue(self, name: str, *, by: str | None = None) -> QueueView:
        """Hands out work of a queue again."""
        return await self._queue(Call("POST", _path(name, ":resume"), body=wire({"by": by})))

    async def set_queue_rate(
        self, name: str, per_second: float | None, *, reason: str, by: str | None = None
    ) -> QueueView:
        """At most so many starts a second; `None` for no limit."""
        body = wire({"reason": reason, "by": by}) | {"per_second": per_second}
        return await self._queue(Call("PUT", _path(name, "/rate"), body=body))

    async def set_queue_concurrency(
        self, name: str, limit: int | None, *, reason: str = "", by: str | None = None
    ) -> QueueView:
        """At most so many at once, over all workers; `None` for no limit, which takes no `reason`."""
        if limit is None:
            return await self._queue(Call("DELETE", _path(name, "/concurrency")))
        body = wire({"reason": reason, "by": by}) | {"limit": limit}
        return await self._queue(Call("PUT", _path(name, "/concurrency"), body=body))

    async def backlog(self, by: Literal["queue", "kind", "fairness_key"] = "queue") -> BacklogView:
        """All open jobs by where they are."""
        return read(BacklogView, await self._sender.send(Call("GET", "/v1/backlog", query={"by": by})))

    async def why(self, job_id: str) -> WhyView:
        """Why a job is where it is, and what to do about it."""
        return read(WhyView, await self._sender.send(Call("GET", job_path(job_id, "/why"))))

    async def doctor(self) -> Report:
        """What is not well, and what to do about it."""
        return read(Report, await self._sender.send(Call("GET", "/v1/doctor")))

    async def _queue(self, call: Call) -> QueueView:
        return read(QueueView, await self._sender.send(call))


def _path(name: str, rest: str = "") -> str:
    return f"/v1/queues/{quote(name, safe=':')}{rest}"
