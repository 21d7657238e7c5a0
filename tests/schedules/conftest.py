"""Schedules through the API, over the session's engine."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from api.app import create_app
from duetime.connection import connect
from duetime.contracts.instants import format_instant, parse_instant
from duetime.engine import EmbeddedEngine
from duetime.worker import Worker
from tests.api.caller import Answer
from tests.api.conftest import calling, settings
from tests.api.stage import HANDLERS, STAGE, Stage
from tests.support.waiting import eventually

Json = dict[str, Any]


@dataclass
class Scheduler:
    """Calls one API about one schedule whose jobs go to a queue of the test."""

    http: httpx2.AsyncClient
    queue: str
    id: str

    @property
    def path(self) -> str:
        return f"/v1/schedules/{self.id}"

    def spec(self, **fields: Any) -> Json:
        job = {"kind": "echo", "queue": self.queue, **fields.pop("job", {})}
        rule = {} if fields.keys() & {"cron", "every", "at"} else {"cron": "0 0 1 1 *"}
        return {**rule, **fields, "job": job}

    async def put(self, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
        return await self.http.put(self.path, json=self.spec(**fields), headers=headers)

    async def made(self, **fields: Any) -> Json:
        answer = await self.put(**fields)
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())

    async def get(self) -> Json:
        answer = await self.http.get(self.path)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def tell(self, command: str, **fields: Any) -> Answer:
        return await self.http.post(f"{self.path}:{command}", json=fields)

    async def told(self, command: str, **fields: Any) -> Json:
        answer = await self.tell(command, **fields)
        assert answer.status_code in (200, 202), answer.text
        return dict(answer.json())

    async def skip(self, nominal: str, **fields: Any) -> Answer:
        return await self.http.post(f"{self.path}/occurrences/{nominal}:skip", json=fields)

    async def occurrences(self, since: str, until: str) -> list[Json]:
        answer = await self.http.get(f"{self.path}/occurrences", params={"from": since, "to": until})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["occurrences"])

    async def states(self, since: str, until: str) -> dict[str, str]:
        return {row["nominal_time"]: row["state"] for row in await self.occurrences(since, until)}

    async def jobs(self) -> list[Json]:
        answer = await self.http.get("/v1/jobs", params={"schedule_id": self.id, "limit": 200})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["jobs"])

    async def nominals(self) -> list[str]:
        return sorted(str(job["nominal_time"]) for job in await self.jobs())

    async def until_fired(self, count: int) -> list[Json]:
        async def enough() -> list[Json] | None:
            found = await self.jobs()
            return found if len(found) >= count else None

        return await eventually(enough)


def soon(seconds: float) -> str:
    """The whole second that comes after so many seconds, at least."""
    at = datetime.now(UTC) + timedelta(seconds=seconds + 1)
    return format_instant(at.replace(microsecond=0))


def later(at: str, seconds: float) -> str:
    return format_instant(parse_instant(at) + timedelta(seconds=seconds))


async def passed(at: str) -> None:
    """Waits for the clock to show an instant: what is due then has come."""
    await asyncio.sleep(max(0.0, (parse_instant(at) - datetime.now(UTC)).total_seconds()))


@pytest.fixture(scope="session")
async def schedule_app(client: Client, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    data = tmp_path_factory.mktemp("schedules")
    return create_app(settings().model_copy(update={"data_dir": data}), client)


@pytest.fixture(scope="session")
async def http(schedule_app: FastAPI, orchestration: None) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(schedule_app) as http:
        yield http


@pytest.fixture(scope="session")
async def other_http(engine: EmbeddedEngine, orchestration: None) -> AsyncIterator[httpx2.AsyncClient]:
    """Another API instance, which shares nothing with the first but the server."""
    async with calling(create_app(settings(), await connect(engine.address))) as http:
        yield http


@pytest.fixture
async def schedule(http: httpx2.AsyncClient, queue: str) -> AsyncIterator[Scheduler]:
    """A schedule of this test alone, deleted at its end."""
    found = Scheduler(http, queue, f"s-{uuid.uuid4().hex[:12]}")
    yield found
    await http.delete(found.path)


@pytest.fixture
async def worker(client: Client, queue: str) -> AsyncIterator[Worker]:
    """A worker for the test's own queue, whose handlers the test steers."""
    STAGE.loop = asyncio.get_running_loop()
    async with Worker(client, HANDLERS, queues=[queue]) as running:
        yield running
        await STAGE.release_all()


@pytest.fixture
def stage() -> Stage:
    return STAGE
