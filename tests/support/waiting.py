"""Waiting for a fact instead of for time."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

#: Long enough for a loaded machine; nothing waits for it when all is well.
PATIENCE = 60.0
#: Seconds between two looks, at first and at most.
OFTEN, SELDOM = 0.03, 0.15


def gap(waited: float) -> float:
    """How long to wait for the next look after `waited` seconds: whoever looks all the time keeps the machine from
    getting there."""
    return min(max(waited / 4, OFTEN), SELDOM)


async def eventually(
    probe: Callable[[], T | Awaitable[T]], patience: float = PATIENCE, *, often: bool = False
) -> T:
    """The first true answer of `probe()`; the test fails with the last one when none comes.

    `often` where the moment counts: what comes next has to find things as they are.
    """
    loop = asyncio.get_running_loop()
    since, answer = loop.time(), None
    while (waited := loop.time() - since) < patience:
        answer = probe()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        await asyncio.sleep(OFTEN if often else gap(waited))
    raise AssertionError(f"not within {patience:.0f} s; the last answer was {answer!r}")
