"""Worker and server killed in the middle of a pipeline: it goes on, and what was done is not done again."""

from collections import Counter
from pathlib import Path
from typing import Any

from duetime.connection import connect
from duetime.contracts.pipeline_state import Mark
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.pipelines.support import Log, Pipelines, ended, progress
from tests.support.waiting import eventually
from tests.support.workers import WorkerProcess

#: Five layers of ten jobs, each of which needs two of the layer before.
JOBS = {
    f"n{layer}{place}": [f"n{layer - 1}{place}", f"n{layer - 1}{(place + 1) % 10}"] if layer else []
    for layer in range(5)
    for place in range(10)
}


async def test_fifty_jobs_outlive_both(tmp_path: Path, queue: str) -> None:
    file = tmp_path / "began.txt"
    file.touch()
    payload = {"file": str(file), "seconds": 0.05}
    jobs: dict[str, dict[str, Any]] = {
        name: {"kind": "work", "needs": needs, "payload": payload, "lease": "2s"}
        for name, needs in JOBS.items()
    }
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path / "data", ui_port=None))
    await engine.start()
    workers: list[WorkerProcess] = []

    async def worker() -> None:
        arguments = ("--handlers", "tests.pipelines.work", "--concurrency", "10")
        workers.append(WorkerProcess(engine.address, queue, *arguments, workflows=True))
        await workers[-1].ready()

    try:
        await worker()
        handle = await Pipelines(await connect(engine.address), queue, Log()).start(jobs, max_parallel=8)

        async def middle() -> list[str]:
            marks = (await progress(handle)).by_name(list(JOBS))
            done = [name for name, mark in marks.items() if mark is Mark.SUCCEEDED]
            return done if len(done) >= 15 else []

        done = await eventually(middle)
        await workers[-1].kill()
        await engine.kill()
        assert len(done) < len(JOBS), "it died in the middle"
        await engine.start()
        await worker()
        assert (await ended(handle)).marks == "s" * len(JOBS)
        began = Counter(file.read_text().split())
        assert set(began) == set(JOBS)
        assert {name: began[name] for name in done} == dict.fromkeys(done, 1)
        first = {name: place for place, name in reversed(list(enumerate(file.read_text().split())))}
        assert all(first[needed] < first[name] for name, needs in JOBS.items() for needed in needs)
    finally:
        for process in workers:
            await process.kill()
        await engine.stop()
