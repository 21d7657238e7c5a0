"""One costly look for all who ask at the same time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Shared(Generic[Value]):
    """Looks one at a time. Nobody gets a look that began before they asked, unless they allow for some age: those who
    come while one is under way share the next."""

    def __init__(self, look: Callable[[], Awaitable[Value]]) -> None:
        self._look = look
        self._one_at_a_time = asyncio.Lock()
        self._begun = float("-inf")
        self._value: Value

    async def get(self, max_age: float = 0.0) -> Value:
        """The value of a look that began at most `max_age` seconds ago."""
        asked = time.monotonic() - max_age
        async with self._one_at_a_time:
            if self._begun < asked:
                begun = time.monotonic()
                self._value = await self._look()
                self._begun = begun
            return self._value
