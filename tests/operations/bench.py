"""Jobs brought into every place that a job can be in, on the real server."""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import httpx2
from temporalio.client import Client
from temporalio.service import RPCError

from duetime.handlers import handler
from duetime.outcomes import Snooze
from duetime.runtime.context import Job
from duetime.worker import Worker
from tests.support.waiting import gap

Value = TypeVar("Value")

_GIVE_UP = 30.0
#: Running handlers of kind `hold` end when this is set for their job.
_LET_GO: dict[str, asyncio.Event] = {}
#: The order in which jobs of kind `quick` began.
BEGUN: list[str] = []


async def until(
    look: Callable[[], Awaitable[Value]], enough: Callable[[Value], object] = bool, seconds: float = _GIVE_UP
) -> Value:
    """What `look` gives once it is `enough`; fails with what it gave last."""
    seen: Value | None = None
    since = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(seconds):
            while True:
                seen = await look()
                if enough(seen):
                    return seen
                await asyncio.sleep(gap(asyncio.get_running_loop().time() - since))
    except TimeoutError:
        raise AssertionError(f"did not come about; the last look gave {seen!r}") from None


@handler("quick")
async def quick(payload: dict[str, Any], job: Job) -> dict[str, Any]:
    BEGUN.append(job.id)
    return {"ran": job.id}


@handler("hold")
async def hold(payload: dict[str, Any], job: Job) -> None:
    await _LET_GO.setdefault(job.id, asyncio.Event()).wait()


@handler("fail")
async def fail(payload: dict[str, Any]) -> None:
    raise RuntimeError(payload.get("message", "it failed"))


@handler("later", lease="10s")
async def later(payload: dict[str, Any]) -> None:
    raise Snooze(payload.get("delay", "1h"))


def let_go(job_id: str) -> None:
    _LET_GO.setdefault(job_id, asyncio.Event()).set()


@dataclass
class Bench:
    """Jobs on `queue`, unless said otherwise."""

    client: Client
    http: httpx2.AsyncClient
    queue: str
    made: list[str] = field(default_factory=list)
    _numbers: Any = field(default_factory=itertools.count)

    async def submit(self, **fields: Any) -> str:
        """The id of a new job, of kind `quick` unless said otherwise."""
        job_id = f"{self.queue}-{next(self._numbers)}"
        body = {"kind": "quick", "queue": self.queue, "id": job_id, **fields}
        answer = await self.http.post("/v1/jobs", json=body)
        assert answer.status_code == 201, answer.text
        self.made.append(body["id"])
        return str(body["id"])

    async def get(self, path: str) -> Any:
        answer = await self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None) -> Any:
        answer = await self.http.post(path, json=body)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()

    async def job(self, job_id: str) -> Any:
        return await self.get(f"/v1/jobs/{job_id}")

    async def in_state(self, job_id: str, *states: str) -> Any:
        """The job once it is in one of these states."""
        return await until(lambda: self.job(job_id), lambda job: job["state"] in states)

    async def why(self, job_id: str) -> Any:
        return await self.get(f"/v1/jobs/{job_id}/why")

    async def blocked_by(self, job_id: str, *reasons: str) -> Any:
        """What `why` says once it names exactly these reasons."""
        return await until(
            lambda: self.why(job_id), lambda why: [one["reason"] for one in why["blocked"]] == list(reasons)
        )

    async def view(self, queue: str | None = None) -> Any:
        return await self.get(f"/v1/queues/{queue or self.queue}")

    async def backlog(self, seconds: float = _GIVE_UP, /, **wanted: int) -> Any:
        """The queue once it has so many jobs in these places, and none in others."""

        def as_wanted(view: Any) -> bool:
            places = {name: count for name, count in view["jobs"].items() if count and name != "open"}
            return places == wanted

        async def look() -> Any:
            answer = await self.http.get(f"/v1/queues/{self.queue}")
            assert answer.status_code in (200, 503), answer.text
            return answer.json()

        return await until(look, lambda view: "jobs" in view and as_wanted(view), seconds)

    def worker(
        self, *handlers: Any, concurrency: int = 5, queue: str | None = None, client: Client | None = None
    ) -> Worker:
        """A worker for the queue; of all kinds unless said otherwise. One client has one worker for each queue."""
        known = handlers or (quick, hold, fail, later)
        return Worker(
            client or self.client,
            known,
            queues=[queue or self.queue],
            concurrency=concurrency,
            grace=timedelta(milliseconds=100),
        )

    async def end(self, job_id: str) -> None:
        let_go(job_id)
        with contextlib.suppress(RPCError):
            await self.client.get_workflow_handle(job_id).terminate()
