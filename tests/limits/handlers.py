"""The handler of the proof: it tells a journal outside of everything when it works."""

import asyncio
import os
from functools import cache
from pathlib import Path
from typing import Any

from duetime import Job, handler
from tests.faults.journal import Journal

FOLDER = Path(os.environ.get("LIMITS_FOLDER", "."))


@cache
def journal() -> Journal:
    return Journal(FOLDER / f"worker-{os.getpid()}.jsonl")


@handler("limits.work")
async def work(payload: dict[str, Any], job: Job) -> int:
    """Works for so long; fails at first, if told to."""
    facts = {"job": job.id, "token": job.fencing_token, "pid": os.getpid()}
    journal().write("begin", **facts)
    try:
        await asyncio.sleep(payload["takes"])
        if job.attempt <= payload.get("failures", 0):
            raise ConnectionError("hung up")
        return job.attempt
    finally:
        journal().write("end", **facts)
