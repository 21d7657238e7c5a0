"""The server killed under load: what was accepted is there, and is done."""

import asyncio
from pathlib import Path

import pytest

from api import patience
from api.app import create_app
from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.worker import Worker
from tests.api.caller import Answer, Caller, problem
from tests.api.conftest import REAL_PATIENCE, calling, settings
from tests.api.stage import HANDLERS, Stage
from tests.support.waiting import eventually
from workflows.worker import orchestrator

JOBS = 200
#: How many are accepted before the server dies.
ENOUGH = 60


async def test_kill_9_under_load_loses_nothing(
    tmp_path: Path, queue: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE", REAL_PATIENCE)
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path, ui_port=None))
    await engine.start()
    try:
        client = await connect(engine.address)
        async with (
            orchestrator(client),
            Worker(client, HANDLERS, queues=[queue]),
            calling(create_app(settings(), client)) as http,
        ):
            api = Caller(http, queue)
            accepted = await load_and_kill(engine, api)
            assert ENOUGH <= len(accepted) < JOBS, "it died in the middle"
            await engine.start()
            done = await asyncio.gather(*(api.final(job_id) for job_id in accepted))
            assert {job["state"] for job in done} == {"succeeded"}
            assert {job["id"]: job["run_id"] for job in done} == accepted
            # Whoever got no answer asks again under the same id: it becomes one job, whatever became of the first call.
            again = [body(queue, n) for n in range(JOBS) if name(queue, n) not in accepted]
            for answer in await asyncio.gather(*(asked_until_answered(api, each) for each in again)):
                if answer.status_code not in (200, 201):  # It began without an answer, and is done already.
                    assert problem(answer, 409, "id-in-use")["job"]["state"] == "succeeded"
            rest = await asyncio.gather(*(api.final(each["id"]) for each in again))
            assert {job["state"] for job in rest} == {"succeeded"}
            assert all(len(stage.attempts(name(queue, n))) >= 1 for n in range(JOBS))
    finally:
        await engine.stop()


def name(queue: str, n: int) -> str:
    return f"{queue}-{n}"


def body(queue: str, n: int) -> dict[str, object]:
    same = {"on_conflict": "return", "retry": {"max_attempts": 20}, "lease": "5s"}
    return {"kind": "echo", "queue": queue, "id": name(queue, n), "payload": {"n": n}, **same}


async def asked_until_answered(api: Caller, job: dict[str, object]) -> Answer:
    """As a client does: a `503` says that nobody knows, and to ask again."""

    async def asked() -> Answer | None:
        answer = await api.post(job)
        return answer if answer.status_code != 503 else None

    answer = await eventually(asked)
    assert answer is not None
    return answer


async def load_and_kill(engine: EmbeddedEngine, api: Caller) -> dict[str, str]:
    """Submits all at once and kills the server among them: ids and runs of what was accepted."""
    accepted: dict[str, str] = {}
    enough = asyncio.Event()

    async def submit(n: int) -> Answer:
        answer = await api.post(body(api.queue, n))
        if answer.status_code == 201:
            accepted[answer.json()["id"]] = answer.json()["run_id"]
            if len(accepted) >= ENOUGH:
                enough.set()
        return answer

    async def kill() -> None:
        await enough.wait()
        await engine.kill()

    killing = asyncio.create_task(kill())
    for answer in await asyncio.gather(*(submit(n) for n in range(JOBS))):
        if answer.status_code != 201:
            assert "repeat with the same id" in problem(answer, 503)["detail"]
    await killing
    return accepted
