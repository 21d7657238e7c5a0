"""Schedules of pipelines through the API, over the session's engine."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.schedules.conftest import Scheduler, http, schedule_app, stage, worker
from tests.support.waiting import eventually

__all__ = ["http", "schedule_app", "stage", "worker"]

Json = dict[str, Any]


class Recurring(Scheduler):
    """Calls one API about one schedule of a pipeline whose jobs go to a queue of the test."""

    def spec(self, **fields: Any) -> Json:
        told = fields.pop("jobs", {"first": {}, "second": {"needs": ["first"]}})
        jobs = {name: {"kind": "echo", "queue": self.queue, **job} for name, job in told.items()}
        rule = {} if fields.keys() & {"cron", "every", "at"} else {"cron": "0 0 1 1 *"}
        return {**rule, **fields, "pipeline": {"jobs": jobs, **fields.pop("pipeline", {})}}

    async def pipelines(self) -> list[Json]:
        answer = await self.http.get("/v1/pipelines", params={"schedule_id": self.id, "limit": 200})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["pipelines"])

    async def pipeline(self, pipeline_id: str) -> Json:
        answer = await self.http.get(f"/v1/pipelines/{quote(pipeline_id, safe='')}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def final(self, pipeline_id: str) -> Json:
        answer = await self.http.get(f"/v1/pipelines/{pipeline_id}/result", params={"wait": "30s"})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def until_begun(self, count: int) -> list[Json]:
        """The pipelines, once there are as many; the first begun first."""

        async def enough() -> list[Json] | None:
            found = await self.pipelines()
            return sorted(found, key=lambda one: str(one["created_at"])) if len(found) >= count else None

        return await eventually(enough)


@pytest.fixture
async def recurring(http: httpx2.AsyncClient, queue: str) -> AsyncIterator[Recurring]:
    """A schedule of this test alone, deleted at its end."""
    found = Recurring(http, queue, f"r-{queue}"[:40])
    yield found
    await http.delete(found.path)
