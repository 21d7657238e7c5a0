"""A step of a workflow that its cancellation does not interrupt."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any


async def surely(step: Coroutine[Any, Any, Any]) -> bool:
    """Carries `step` out to its end; whether the workflow was cancelled meanwhile, which is for the caller to heed."""
    doing, cancelled = asyncio.ensure_future(step), False
    while not doing.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(doing)
            break
        cancelled = True
    doing.result()
    return cancelled
