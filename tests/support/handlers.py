"""Handlers for worker processes. They tell what they do in files, since a killed process has no other voice."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from duetime import Job, handler


def note(folder: str, job: Job, text: str) -> None:
    with (Path(folder) / f"{job.id}.txt").open("a") as file:
        file.write(f"{text}\n")


@handler("test.until-released", lease="2s")
async def until_released(payload: dict[str, Any], job: Job) -> dict[str, Any]:
    """Runs until a file named `release` appears; saves a checkpoint first."""
    note(payload["folder"], job, f"began {job.attempt} {job.checkpoint}")
    if job.checkpoint is None:
        await job.save_checkpoint({"rows": 7})
    note(payload["folder"], job, "saved")
    while not (Path(payload["folder"]) / "release").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return {"attempt": job.attempt, "from": job.checkpoint}


@handler("test.until-released.sync", lease="2s")
def until_released_sync(payload: dict[str, Any], job: Job) -> dict[str, Any]:
    """The same in a thread."""
    note(payload["folder"], job, f"began {job.attempt} {job.checkpoint}")
    if job.checkpoint is None:
        job.save_checkpoint({"rows": 7})
    note(payload["folder"], job, "saved")
    while not (Path(payload["folder"]) / "release").exists():
        time.sleep(0.05)
    return {"attempt": job.attempt, "from": job.checkpoint}


@handler("test.quick-death", lease="2s")
async def quick_death(payload: dict[str, Any], job: Job) -> int:
    """Takes its worker with it before anybody hears of the attempt."""
    if not (Path(payload["folder"]) / "release").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return job.attempt
