"""No worker of any kind alive: jobs are accepted, read and cancelled all the same."""

import asyncio
import gc
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
from workflows.worker import orchestrator


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    """A client of a server that nobody works for."""
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        yield await connect(engine.address)


@pytest.fixture
async def api(client: Client, queue: str) -> AsyncIterator[Caller]:
    async with calling(create_app(settings(), client)) as http:
        yield Caller(http, queue)


@pytest.mark.parametrize(("delay", "state"), [("1h", "scheduled"), (None, "queued")])
@pytest.mark.parametrize("mode", ["graceful", "force"])
async def test_a_cancellation_is_at_once(api: Caller, delay: str | None, state: str, mode: str) -> None:
    accepted = await api.submit(delay=delay)
    assert (await api.get(accepted["id"]))["state"] == state
    answer = await api.command(accepted["id"], "cancel", mode=mode, reason="nobody there")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    job = await api.get(accepted["id"])
    assert (job["state"], job["error"]["message"]) == ("cancelled", "nobody there")
    assert (await api.command(accepted["id"], "cancel")).status_code == 202


async def test_a_schedule_that_cannot_be_put_leaves_no_error_behind(
    api: Caller, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None that asyncio would complain of in the log once it is collected."""
    monkeypatch.setattr(patience, "PATIENCE", 1.0)
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_exception_handler", complaints.append)
    put = {"every": "1h", "job": {"kind": "echo", "queue": queue}}
    problem(await api.http.put(f"/v1/schedules/{queue}", json=put), 503, "no-orchestrator")
    gc.collect()
    assert complaints == []


async def test_what_needs_an_orchestrator_says_so_in_time(
    api: Caller, client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 2.0)
    accepted = await api.submit(delay="1h")
    loop = asyncio.get_running_loop()
    for call in (
        lambda: api.command(accepted["id"], "run-now"),
        lambda: api.patch(accepted["id"], delay="2h"),
        lambda: api.patch(accepted["id"], priority=1),
    ):
        began = loop.time()
        answer = await call()
        assert loop.time() - began < 5
        refusal = problem(answer, 503, "no-orchestrator")
        assert refusal["reason"] == "no_orchestrator" and int(answer.headers["retry-after"]) >= 1
        assert "worker.py" in refusal["detail"]
    assert (await api.get(accepted["id"]))["state"] == "scheduled"
    async with orchestrator(client), Worker(client, HANDLERS, queues=[api.queue]):
        monkeypatch.setattr(patience, "PATIENCE", 30.0)
        assert (await api.command(accepted["id"], "run-now")).status_code == 200
        assert (await api.final(accepted["id"]))["state"] == "succeeded"
    assert len(stage.attempts(accepted["id"])) == 1


async def test_a_replacement_needs_nobody(api: Caller, job_id: str) -> None:
    await api.submit(id=job_id)
    new = await api.submit(id=job_id, delay="1h", on_conflict="replace")
    assert (await api.get(job_id))["run_id"] == new["run_id"]
