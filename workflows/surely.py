"""A step of a workflow that its cancellation does not interrupt."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def surely(step: Coroutine[Any, Any, Result]) -> tuple[Result, bool]:
    """What `step` gives at its end, and whether the workflow was cancelled meanwhile: for the caller to heed."""
    doing, cancelled = asyncio.ensure_future(step), False
    while not doing.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(doing)
            break
        cancelled = True
    return doing.result(), cancelled
