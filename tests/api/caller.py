"""A caller of the API: what tests send, and how they wait for facts."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2

from tests.api.stage import PATIENCE
from tests.support.waiting import gap

Answer = httpx2.Response
JobJson = dict[str, Any]

FINAL = {"succeeded", "failed", "cancelled", "expired", "skipped"}


class Caller:
    """Calls one API; `queue` is where its jobs go when a test does not say."""

    def __init__(self, http: httpx2.AsyncClient, queue: str = "default") -> None:
        self.http = http
        self.queue = queue

    async def post(self, fields: Any, **headers: str) -> Answer:
        """`POST /v1/jobs` with these fields as they are; header names with `_` for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post("/v1/jobs", json=fields, headers=named)

    async def submit(self, kind: str = "echo", **fields: Any) -> JobJson:
        """A job that must be accepted, as it was answered."""
        answer = await self.post({"kind": kind, "queue": self.queue, **fields})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def get(self, job_id: str) -> JobJson:
        answer = await self.http.get(f"/v1/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def patch(self, job_id: str, **fields: Any) -> Answer:
        return await self.http.patch(f"/v1/jobs/{job_id}", json=fields)

    async def command(self, job_id: str, name: str, **fields: Any) -> Answer:
        """`POST /v1/jobs/{id}:{name}`, with a body when there are fields."""
        return await self.http.post(f"/v1/jobs/{job_id}:{name}", **({"json": fields} if fields else {}))

    async def until(self, job_id: str, fact: str | Callable[[JobJson], Any]) -> JobJson:
        """The job once it is in a state, or once `fact` holds of it."""
        holds = fact if callable(fact) else lambda job: job["state"] == fact
        job: JobJson = {}
        since = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds(job := await self.get(job_id)):
                    assert job["state"] not in FINAL, f"it ended before {fact}: {job}"
                    await asyncio.sleep(gap(asyncio.get_running_loop().time() - since))
        except TimeoutError:
            raise AssertionError(f"never {fact}: {job}") from None
        return job

    async def final(self, job_id: str) -> JobJson:
        """The job once it is final."""
        async with asyncio.timeout(PATIENCE):
            while (answer := await self.http.get(f"/v1/jobs/{job_id}/result?wait=20s")).status_code == 202:
                pass
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def problem(answer: Answer, status: int, name: str | None = None) -> dict[str, Any]:
    """The problem document of an answer, after looking that it is a good one."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    body = dict(answer.json())
    assert body["status"] == status
    assert body["type"].startswith("urn:duetime:problem:")
    assert body["title"] and body["detail"]
    if name is not None:
        assert body["type"] == f"urn:duetime:problem:{name}"
    return body


def faults(answer: Answer, status: int = 422) -> dict[str, str]:
    """Pointer to message of every bad field."""
    return {fault["pointer"]: fault["message"] for fault in problem(answer, status, "invalid")["errors"]}
