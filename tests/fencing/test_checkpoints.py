"""A checkpoint that was answered is there afterwards, whoever dies."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.app import create_app
from duetime import Job, handler
from duetime.connection import connect
from duetime.contracts.record import Attempt, Record
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.runtime.lease import Lease, LeaseLost
from duetime.settings import Settings
from tests.api.caller import Caller
from tests.api.conftest import calling
from tests.support.jobs import NO_WAIT
from tests.support.waiting import eventually
from tests.support.workers import serving, worker_processes
from workflows.worker import orchestrator


async def test_through_the_death_of_worker_and_server_and_a_redrive(tmp_path: Path) -> None:
    """Both are killed as soon as the handler has its answer; the only attempt is lost with them."""
    folder, kind = tmp_path / "notes", "test.until-released"
    folder.mkdir()
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path / "data", ui_port=None))
    await engine.start()
    try:
        client = await connect(engine.address)
        async with orchestrator(client), calling(create_app(Settings.model_construct(), client)) as http:
            api = Caller(http)
            async with worker_processes(engine.address, "default") as [process]:
                submitted = await api.submit(
                    kind, payload={"folder": str(folder)}, lease="2s", retry={"max_attempts": 1}
                )
                note = folder / f"{submitted['id']}.txt"
                await eventually(lambda: note.exists() and "saved" in note.read_text())
                await asyncio.gather(engine.kill(), process.kill())
            await engine.start()
            job = await api.final(submitted["id"])
            assert (job["state"], job["error"]["type"]) == ("failed", "LeaseLost")
            assert job["checkpoint"] == {"rows": 7}
            (folder / "release").touch()
            async with worker_processes(engine.address, "default"):
                assert (await api.command(job["id"], "retry", **{"from": "checkpoint"})).status_code == 200
                again = await api.final(job["id"])
                assert again["result"] == {"attempt": 1, "from": {"rows": 7}}
                assert again["attempts"][0]["fencing_token"] > job["attempts"][0]["fencing_token"]
                await api.command(job["id"], "retry", **{"from": "start"}, force=True)
                afresh = await api.final(job["id"])
                assert afresh["result"] == {"attempt": 1, "from": None}
    finally:
        await engine.stop()


async def test_through_retries_that_save_nothing(api: Caller, client: Client) -> None:
    @handler("saves")
    async def saves(payload: dict[str, Any], job: Job) -> Any:
        if job.attempt == 1:
            await job.save_checkpoint("first")
        if job.attempt < 4:
            raise ConnectionError
        return job.checkpoint

    async with serving(client, api.queue, saves):
        job = await api.final((await api.submit("saves", retry=NO_WAIT))["id"])
    assert job["result"] == job["checkpoint"] == "first"


# -- the order of signs of life -------------------------------------------------------------------------------


class Heart:
    """A server as the lease hears it: a list of what becomes of each sign, and the signs."""

    def __init__(self, *answers: RPCStatusCode | None) -> None:
        self.answers = list(answers)
        self.heard: list[Any] = []

    async def heartbeat(self, details: Any, rpc_timeout: timedelta) -> None:
        self.heard.append(details["record"].get("checkpoint"))
        status = self.answers.pop(0) if self.answers else None
        if status is not None:
            raise RPCError("no", status, b"")


def lease(heart: Heart, seconds: float = 30.0) -> Lease:
    return Lease(heart, seconds, Record(), Attempt(number=1))


async def test_an_answered_checkpoint_is_sent_once() -> None:
    heart = Heart()
    await lease(heart).save_checkpoint(1)
    assert heart.heard == [1]


async def test_after_an_unanswered_sign_a_checkpoint_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lost sign, with the older checkpoint, may still arrive: a second answer says that it did not come last."""
    heart = Heart(None, RPCStatusCode.DEADLINE_EXCEEDED)
    kept = lease(heart, seconds=0.3)
    monkeypatch.setattr("duetime.runtime.lease.Lease.margin", -60.0)
    await kept.save_checkpoint("older")
    await kept.save_checkpoint("newer")
    assert heart.heard == ["older", "newer", "newer", "newer"]
    await kept.save_checkpoint("newest")
    assert heart.heard[4:] == ["newest"]


async def test_a_checkpoint_that_cannot_be_saved_any_more_says_so() -> None:
    heart = Heart(RPCStatusCode.NOT_FOUND)
    kept = lease(heart)
    with pytest.raises(LeaseLost):
        await kept.save_checkpoint(1)
    assert kept.stopped
    over = lease(Heart())
    over.retire()
    with pytest.raises(LeaseLost, match="over"):
        await over.save_checkpoint(1)


async def test_a_checkpoint_gives_up_with_the_lease() -> None:
    heart = Heart(*[RPCStatusCode.UNAVAILABLE] * 1000)
    with pytest.raises(LeaseLost, match="ran out"):
        await lease(heart, seconds=0.6).save_checkpoint(1)
