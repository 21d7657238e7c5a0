"""Handlers of bad manners, for worker processes: each says that it has begun in a file named by its payload."""

import asyncio
import time
from pathlib import Path
from typing import Any

from duetime import Job, handler

_LONG = 600.0


def begun(payload: dict[str, Any], job: Job) -> bool:
    """Says so; whether it is the first time."""
    note = Path(payload["note"])
    first = not note.exists()
    note.touch()
    return first


@handler("stubborn.loop", lease="2s")
async def stubborn_on_the_loop(payload: dict[str, Any], job: Job) -> int:
    """Swallows its cancellation."""
    until = time.monotonic() + _LONG
    first = begun(payload, job)
    while first and time.monotonic() < until:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue
    return job.attempt


@handler("stubborn.thread", lease="2s")
def stubborn_in_a_thread(payload: dict[str, Any], job: Job) -> int:
    """The same in a thread."""
    until = time.monotonic() + _LONG
    first = begun(payload, job)
    while first and time.monotonic() < until:
        try:
            time.sleep(0.05)
        except BaseException:
            continue
    return job.attempt


@handler("blocks", lease="2s")
async def blocks_the_loop(payload: dict[str, Any], job: Job) -> int:
    """Does not let anybody else on the loop."""
    if begun(payload, job):
        time.sleep(_LONG)  # noqa: ASYNC251
    return job.attempt
