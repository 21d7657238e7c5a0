"""Temporal away: every call says so in time, and all goes on when it is back, without a restart of the API."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from api import patience
from api.app import create_app
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.engine.ports import free_port
from duetime.settings import Settings
from tests.api.caller import Answer, Caller, problem
from tests.api.conftest import REAL_PATIENCE, calling

#: Answered without Temporal, by the process itself or the ledger's database: these tell how things are.
ALONE = {
    "GET /healthz",
    "GET /metrics",
    "GET /v1/doctor",
    "POST /v1/fences/{resource}:check",
    "POST /v1/schedules:preview",
}
#: Known for some seconds.
REMEMBERED = {"GET /v1/kinds", "GET /v1/kinds/{kind}"}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[EmbeddedEngine]:
    """One that is not started yet."""
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path / "engine", port=free_port(), ui_port=None))
    yield engine
    await engine.stop()


@pytest.fixture
async def app(engine: EmbeddedEngine, tmp_path: Path) -> FastAPI:
    return create_app(Settings.model_construct(temporal_address=engine.address, data_dir=tmp_path / "api"))


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(app) as http:
        yield http


def calls(app: FastAPI) -> dict[str, tuple[str, str, Any]]:
    """A good call of every operation, by method and template: method, path, body."""
    found = {}
    document = app.openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            body = None
            if "requestBody" in operation:
                content = operation["requestBody"]["content"]["application/json"]
                body = example(document, content)
            filled = re.sub(r"\{[^}]+\}", "some-job", path)
            found[f"{method.upper()} {path}"] = (method.upper(), filled, body)
    return found


def example(document: dict[str, Any], content: dict[str, Any]) -> Any:
    """The first example of a body: its own, or that of its schema."""
    for named in content.get("examples", {}).values():
        return named["value"]
    for part in content["schema"].get("anyOf", [content["schema"]]):
        if "$ref" in part:
            return document["components"]["schemas"][part["$ref"].rpartition("/")[2]]["examples"][0]
    raise AssertionError(f"no example: {content}")


async def all_answers(http: httpx2.AsyncClient, app: FastAPI) -> dict[str, tuple[Answer, float]]:
    """Each operation's answer, and after how many seconds it came."""
    loop = asyncio.get_running_loop()

    async def call(method: str, path: str, body: Any) -> tuple[Answer, float]:
        began = loop.time()
        answer = (
            await http.request(method, path, json=body)
            if body is not None
            else await http.request(method, path)
        )
        return answer, loop.time() - began

    wanted = calls(app)
    answers = await asyncio.gather(*(call(*parts) for parts in wanted.values()))
    return dict(zip(wanted, answers, strict=True))


async def all_unavailable(http: httpx2.AsyncClient, app: FastAPI, but: Collection[str] = ()) -> None:
    for name, (answer, seconds) in (await all_answers(http, app)).items():
        assert seconds < 5, f"{name} took {seconds}"
        if name in but:
            continue
        if name in ALONE:
            assert answer.status_code == 200, (name, answer.text)
            continue
        if answer.status_code == 207:  # A batch answers for each of its jobs.
            assert {item["status"] for item in answer.json()["jobs"]} <= {422, 503}, name
            continue
        body = problem(answer, 503)
        assert int(answer.headers["retry-after"]) >= 1, name
        assert body["reason"], name


async def test_away_and_back_twice(
    engine: EmbeddedEngine, app: FastAPI, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert REAL_PATIENCE < 5
    # Half of what it is, so that a call which waits twice is told from a slow machine.
    monkeypatch.setattr(patience, "PATIENCE", 2.0)
    caller = Caller(http)
    await all_unavailable(http, app)
    await engine.start()
    await ready(http)
    accepted = await caller.submit(delay="1h")
    await engine.kill()
    await all_unavailable(http, app, but=REMEMBERED)
    await engine.start()
    await ready(http)
    assert (await caller.get(accepted["id"]))["run_id"] == accepted["run_id"]
    assert (await caller.command(accepted["id"], "cancel")).json()["state"] == "cancelled"


async def ready(http: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while (answer := await http.get("/readyz")).status_code != 200:
            problem(answer, 503)
            await asyncio.sleep(0.1)
    assert answer.json()["status"] == "ready"
