"""Handlers that stay where a test wants them."""

import asyncio
from collections import defaultdict
from typing import Any

from duetime import Job, Reject, handler

#: By job id: set to let `hold` return.
RELEASED: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
#: By job id: set once `hold` has begun.
BEGUN: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)


@handler("echo")
async def echo(payload: dict[str, Any], job: Job) -> dict[str, Any]:
    return payload


@handler("hold", lease="2s")
async def hold(payload: dict[str, Any], job: Job) -> str:
    """Tells its progress when asked, and waits to be released."""
    BEGUN[job.id].set()
    if "done" in payload:
        job.progress(payload["done"], 10, "under way")
    await RELEASED[job.id].wait()
    return "released"


@handler("fail")
async def fail(payload: dict[str, Any], job: Job) -> None:
    raise ConnectionError("the far side hung up")


@handler("reject")
async def reject(payload: dict[str, Any], job: Job) -> None:
    raise Reject("no")


HANDLERS = [echo, hold, fail, reject]
