"""The promise, judged from outside: real workers are killed, and never do more than the limit work at once.

Each attempt writes when it begins and ends to a file that outlives its process; an attempt of a killed process ended
when that was killed. The long proof (`DUETIME_LONG_LIMITS=1`): two hundred jobs, four workers, many kills.
"""

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from duetime.connection import connect
from duetime.contracts.concurrency import LINE, Line, limit_of_key
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.engine.child import Child
from tests.faults.journal import Journal, read_journals
from tests.support.jobs import Jobs, outcome_of
from tests.support.waiting import eventually
from workflows.worker import orchestrator

ROOT = Path(__file__).parents[2]
LIMIT = 3


def most_at_once(facts: Iterable[dict[str, Any]]) -> int:
    """How many attempts were at work at the same time, at most."""
    facts = list(facts)
    killed = {fact["pid"]: fact["at"] for fact in facts if fact["event"] == "killed"}
    ends = {(fact["pid"], fact["token"], fact["job"]): fact["at"] for fact in facts if fact["event"] == "end"}
    moments: list[tuple[float, int]] = []
    for fact in facts:
        if fact["event"] == "begin":
            end = ends.get((fact["pid"], fact["token"], fact["job"])) or killed[fact["pid"]]
            moments += [(fact["at"], 1), (end, -1)]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def test_the_judge_sees_four_at_once() -> None:
    def fact(event: str, at: float, pid: int = 1, token: int = 1) -> dict[str, Any]:
        return {"event": event, "at": at, "pid": pid, "token": token, "job": str(token)}

    one_after_another = [fact("begin", 1), fact("end", 2), fact("begin", 2, token=2), fact("end", 3, token=2)]
    assert most_at_once(one_after_another) == 1
    four = [fact("begin", 1, token=n) for n in range(4)] + [fact("end", 9, token=n) for n in range(4)]
    assert most_at_once(four) == 4
    dead = [fact("begin", 1), fact("begin", 5, pid=2, token=2), fact("end", 6, pid=2, token=2)]
    assert most_at_once([*dead, {"event": "killed", "at": 5.5, "pid": 1}]) == 2
    assert most_at_once([*dead, {"event": "killed", "at": 4.5, "pid": 1}]) == 1


@dataclass
class Scene:
    """A server, workers as processes that run workflows and handlers, and who was killed when."""

    client: Client
    address: str
    folder: Path
    workers: list[Child]
    kills: Journal
    #: Of those who are killed.
    arguments: tuple[str, ...] = ()

    def start(self) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
        settings = {
            "DUETIME_TEMPORAL_ADDRESS": self.address,
            "PYTHONPATH": str(ROOT),
            "LIMITS_FOLDER": str(self.folder),
        }
        arguments = (
            "--queues",
            "limited",
            "--handlers",
            "tests.limits.handlers",
            "--concurrency",
            "10",
            *self.arguments,
        )
        argv = [sys.executable, str(ROOT / "worker.py"), *arguments]
        self.workers.append(Child("worker", argv, env=clean | settings, on_line=lambda _: None))

    async def kill(self, index: int) -> None:
        worker = self.workers.pop(index)
        await worker.kill()
        self.kills.write("killed", pid=worker.pid)

    def facts(self) -> list[dict[str, Any]]:
        return list(read_journals(self.folder, "*.jsonl"))

    def begun(self) -> int:
        return sum(fact["event"] == "begin" for fact in self.facts())

    def at_work(self) -> set[int]:
        """Processes that have an attempt."""
        count = Counter[int]()
        for fact in self.facts():
            count[fact["pid"]] += {"begin": 1, "end": -1}.get(fact["event"], 0)
        return {pid for pid, attempts in count.items() if attempts > 0}


@asynccontextmanager
async def scene(folder: Path, workers: int, *arguments: str) -> AsyncIterator[Scene]:
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        client = await connect(engine.address)
        made = Scene(client, engine.address, folder, [], Journal(folder / "kills.jsonl"), arguments)
        try:
            for _ in range(workers):
                made.start()
            yield made
        finally:
            for worker in made.workers:
                await worker.kill()


async def submit(made: Scene, count: int, takes: float) -> list[Any]:
    jobs = Jobs(made.client, "limited")
    return [
        await jobs.start(
            "limits.work",
            {"takes": takes, "failures": int(number % 7 == 0)},
            lease="2s",
            concurrency={"key": "k", "limit": LIMIT},
            retry={"initial_interval": "1s", "jitter": 0, "max_attempts": 20},
        )
        for number in range(count)
    ]


async def judged(made: Scene, handles: list[Any]) -> None:
    """All have ended well, no more than the limit ever worked, all of it was used, and no place was lost."""
    ended = await asyncio.gather(*(outcome_of(handle) for handle in handles))
    assert Counter(outcome.status.name for outcome in ended) == {"COMPLETED": len(handles)}
    facts = made.facts()
    assert most_at_once(facts) == LIMIT
    if not made.workers:
        made.start()

    async def all_free() -> bool:
        said = await made.client.get_workflow_handle(limit_of_key("k")).query(LINE)
        return Line.model_validate(said) == Line(limit=LIMIT, held=0, waiting=0, holders=[])

    await eventually(all_free)


async def test_a_worker_is_killed_and_no_place_is_lost(tmp_path: Path) -> None:
    """The workflows run elsewhere, so that a death costs a lease and not a workflow task's ten seconds."""
    async with scene(tmp_path, 2, "--no-workflows") as made, orchestrator(made.client):
        handles = await submit(made, 24, takes=0.1)

        def busy() -> int | None:
            """One that is at work, in the middle of it all."""
            pids = made.at_work()
            there = [index for index, worker in enumerate(made.workers) if worker.pid in pids]
            return there[0] + 1 if made.begun() >= 10 and there else None

        index = await eventually(busy, often=True)
        assert index is not None
        await made.kill(index - 1)
        await judged(made, handles)
        assert any(fact["event"] == "killed" for fact in made.facts())


@pytest.mark.skipif(not os.environ.get("DUETIME_LONG_LIMITS"), reason="DUETIME_LONG_LIMITS=1 runs it")
@pytest.mark.timeout(900)
async def test_two_hundred_jobs_four_workers_and_many_kills(tmp_path: Path) -> None:
    seed = int(os.environ.get("DUETIME_FAULT_SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"\nDUETIME_FAULT_SEED={seed}")
    chance = random.Random(seed)
    async with scene(tmp_path, 4) as made:
        handles = await submit(made, 200, takes=0.4)
        killing = asyncio.ensure_future(_kill_on(made, chance))
        try:
            await judged(made, handles)
        finally:
            killing.cancel()
        kills = sum(fact["event"] == "killed" for fact in made.facts())
        print(f"{kills} kills, {made.begun()} attempts of {len(handles)} jobs")
        assert kills >= 5


async def _kill_on(made: Scene, chance: random.Random) -> None:
    while True:
        await asyncio.sleep(chance.uniform(2, 6))
        begun = made.begun()
        # However busy this machine is: they get somewhere between two kills.
        await eventually(lambda before=begun: made.begun() >= before + 5)  # type: ignore[misc]
        await made.kill(chance.randrange(len(made.workers)))
        made.start()
