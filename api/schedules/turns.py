"""Commands of this API instance on one schedule: a few at a time.

A schedule's entity takes them one after the other, and the server refuses more than ten that wait for one workflow.
Who is refused tries again ever later, and has no answer in time though the entity is never idle.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

#: A part of the server's ten: there are other instances.
AT_ONCE = 3


class Place:
    """Where commands on one schedule wait for each other."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(AT_ONCE)
        self.users = 0
        #: Commands that were answered.
        self.answered = 0


class Turns:
    """Gives places; none is kept that nobody uses."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}

    @asynccontextmanager
    async def place(self, schedule_id: str) -> AsyncIterator[Place]:
        """The place of a schedule, which is its own as long as somebody is there."""
        place = self._places.setdefault(schedule_id, Place())
        place.users += 1
        try:
            yield place
        finally:
            place.users -= 1
            if not place.users:
                del self._places[schedule_id]
