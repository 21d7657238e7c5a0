"""Waiting for a fact instead of for time."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

#: Long enough for a loaded machine; nothing waits for it when all is well.
PATIENCE = 60.0


async def eventually(probe: Callable[[], T | Awaitable[T]], patience: float = PATIENCE) -> T:
    """The first true answer of `probe()`; the test fails with the last one when none comes."""
    loop = asyncio.get_running_loop()
    until, answer = loop.time() + patience, None
    while loop.time() < until:
        answer = probe()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError(f"not within {patience:.0f} s; the last answer was {answer!r}")
