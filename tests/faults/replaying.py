"""Replays the histories that a storm of faults made, in a process with another order of hashes and no cache.

python -m tests.faults.replaying FOLDER
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from duetime.process import run_main
from tests.faults.world import ROOT, World
from tests.replay import replaying


async def replay_all(world: World, ids: Sequence[str], folder: Path, most: int) -> dict[str, Any]:
    """Replays the longest histories of these jobs, which had the most to decide; how many, and what did not fit."""
    await asyncio.to_thread(folder.mkdir)
    lengths: dict[str, int] = {}
    gate = asyncio.Semaphore(8)

    async def measure(job_id: str) -> None:
        async with gate:
            lengths[job_id] = (await world.client.get_workflow_handle(job_id).describe()).history_length

    await asyncio.gather(*map(measure, ids))
    for job_id in sorted(ids, key=lambda job_id: lengths[job_id], reverse=True)[:most]:
        history = await world.client.get_workflow_handle(job_id).fetch_history()
        (folder / f"{job_id}.json").write_text(history.to_json())
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.replaying", str(folder)),
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    lines = output.decode().splitlines()
    return {
        "histories": min(most, len(ids)),
        "longest": max(lengths.values(), default=0),
        "failures": [] if process.returncode == 0 else lines[-50:],
    }


async def main() -> int:
    return await replaying.replay_all(
        await asyncio.to_thread(lambda: sorted(Path(sys.argv[1]).glob("*.json")))
    )


if __name__ == "__main__":
    run_main(main)
