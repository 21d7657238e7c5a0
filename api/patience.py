"""How long the API waits for Temporal: a caller has an answer within five seconds."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from api.problems import unavailable

#: Seconds.
PATIENCE = 4.5

Result = TypeVar("Result")


async def answer_in_time(call: Awaitable[Result]) -> Result:
    """What `call` returns; a `503` problem when it takes longer than a caller should wait."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await call
    except TimeoutError:
        raise unavailable(
            "Temporal did not answer in time; the outcome may be unknown: repeat with the same id or key"
        ) from None
