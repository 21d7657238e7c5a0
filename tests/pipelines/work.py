"""A handler for worker processes, which tells in a file what it does: a killed process has no other voice."""

import asyncio
from pathlib import Path
from typing import Any

from duetime import Job, handler


def note(path: Path, job: Job) -> None:
    with path.open("a") as file:
        file.write(f"{job.id.partition('~')[2]}\n")


@handler("work", lease="2s")
async def work(payload: dict[str, Any], job: Job) -> str:
    note(Path(payload["file"]), job)
    await asyncio.sleep(payload["seconds"])
    return job.id
