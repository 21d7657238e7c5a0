"""A job that kills its worker every time ends, with every attempt on its list, and the other jobs get through."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.world import World, world
from tests.support.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@contextlib.asynccontextmanager
async def replaced(scene: World) -> AsyncIterator[list[str]]:
    """As a supervisor does: whoever dies is started again. Yields who died."""
    dead: list[str] = []

    async def watch() -> None:
        while True:
            for slot in scene.workers:
                if slot.child is not None and not slot.child.running:
                    dead.append(slot.identity)
                    slot.start()
            await asyncio.sleep(0.05)

    watching = asyncio.ensure_future(watch())
    try:
        yield dead
    finally:
        watching.cancel()


@pytest.mark.parametrize(
    ("acknowledged", "error", "times"),
    [(True, "LeaseLost", 3), (False, "WorkerLost", 10)],
    ids=["heard", "unheard"],
)
async def test_poison(
    postgres_server: PostgresServer, tmp_path: Path, acknowledged: bool, error: str, times: int
) -> None:
    async with world(tmp_path, postgres_server, workers=2) as scene, replaced(scene) as dead:
        poison = await scene.submit(
            "fault.poison",
            {"acknowledged": acknowledged},
            lease="2s",
            retry={"max_attempts": 3, "initial_interval": 0},
        )
        others = [await scene.submit("fault.long", {"seconds": 1}, lease="2s") for _ in range(10)]
        job = await scene.final(poison, patience=240)
        assert (job["state"], job["error"]["type"]) == ("failed", error)
        assert [attempt["outcome"] for attempt in job["attempts"]] == ["lease_lost"] * times
        why = (await scene.http.get(f"{scene.apis[0].url}/v1/jobs/{poison}/why")).json()
        assert f"its last {times} attempts lost their lease" in why["blocked"][0]["detail"]
        assert job["attempt"] == (times if acknowledged else 0)
        assert [attempt["worker"] for attempt in job["attempts"]] == dead[:times]
        begun = [fact["token"] for fact in scene.journal("begin") if fact["job"] == poison]
        assert sorted(begun) == [attempt["fencing_token"] for attempt in job["attempts"]]
        for other in others:
            assert (await scene.final(other))["state"] == "succeeded"
        assert len(dead) == times, "it is not handed out again"
