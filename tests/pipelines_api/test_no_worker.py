"""No worker for the workflows alive: pipelines are accepted, read, drawn and, by force, cancelled all the same."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from api import patience
from api.app import create_app
from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.worker import Worker
from tests.api.caller import Caller, problem
from tests.api.conftest import calling, settings
from tests.api.stage import HANDLERS, Stage
from tests.pipelines_api.conftest import Pipelines, states
from workflows.worker import orchestrator


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    """A client of a server that nobody works for."""
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        yield await connect(engine.address)


@pytest.fixture
async def pipelines(client: Client, queue: str) -> AsyncIterator[Pipelines]:
    async with calling(create_app(settings(), client)) as http:
        yield Pipelines(http, queue)


async def test_one_that_nobody_has_looked_at(pipelines: Pipelines, monkeypatch: pytest.MonkeyPatch) -> None:
    own = (await pipelines.submit({"a": None, "b": {"needs": ["a"]}}))["id"]
    now = await pipelines.get(own)
    assert (now["state"], states(now)) == ("queued", {"a": "waiting", "b": "waiting"})
    assert [job["reason"] for job in now["jobs"].values()] == ["start", "needs"]
    assert (await pipelines.http.get(f"/v1/pipelines/{own}/graph")).status_code == 200

    monkeypatch.setattr(patience, "PATIENCE", 2.0)
    began = asyncio.get_running_loop().time()
    refused = problem(await pipelines.command(own, "cancel"), 503, "no-orchestrator")
    assert asyncio.get_running_loop().time() - began < 5
    assert '{"mode": "force"}' in refused["detail"]
    answer = await pipelines.command(own, "cancel", mode="force", reason="nobody there")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    ended = await pipelines.get(own)
    assert states(ended) == {"a": "skipped", "b": "skipped"}
    assert ended["error"]["message"] == "nobody there"


async def test_one_whose_worker_has_died_meanwhile(
    pipelines: Pipelines, client: Client, stage: Stage
) -> None:
    api = Caller(pipelines.http, pipelines.queue)
    jobs = {
        "done": None,
        "a": {"kind": "gate", "needs": ["done"]},
        "each": {
            "kind": "gate",
            "needs": ["done"],
            "for_each": ["x", "y"],
            "payload": {"n": {"$item": ""}},
        },
        "b": {"needs": ["a", "each"]},
    }
    async with Worker(client, HANDLERS, queues=[pipelines.queue]):
        async with orchestrator(client):
            own = (await pipelines.submit(jobs))["id"]
            for name in ("a", "each~0", "each~1"):
                await stage.began(f"{own}~{name}")
            await pipelines.until(own, lambda now: (now["jobs"]["each"]["items"] or {}).get("running") == 2)
        now = await pipelines.get(own)
        assert states(now) == {"done": "succeeded", "a": "running", "each": "running", "b": "waiting"}
        assert now["jobs"]["each"]["items"] == {"total": 2, "running": 2, "done": 0, "failed": 0}
        assert next(step["name"] for step in now["critical_path"]["jobs"]) == "done"
        answer = await pipelines.command(own, "cancel", mode="force")
        assert answer.status_code == 202, answer.text
        assert states(answer.json()) == {
            "done": "succeeded",
            "a": "cancelled",
            "each": "cancelled",
            "b": "skipped",
        }
        for name in ("a", "each~0", "each~1"):
            job = await api.get(f"{own}~{name}")
            assert (job["state"], job["attempts"][0]["outcome"]) == ("cancelled", "cancelled")

        retried = await pipelines.command(own, "retry")
        assert retried.status_code == 200, retried.text
        for name in ("a", "each~0", "each~1"):
            await stage.release(f"{own}~{name}")
        async with orchestrator(client):
            ended = await pipelines.final(own)
        assert ended["state"] == "succeeded"
        assert ended["counts"] == {"succeeded": 4}
