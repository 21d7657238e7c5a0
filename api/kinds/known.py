"""The kinds that workers announced, as this API instance knows them: read again when some seconds old."""

import asyncio
import time
from collections.abc import Iterable, Mapping

from temporalio.client import Client

from api.patience import answer_in_time
from duetime.contracts.kinds import KindEntry
from duetime.registry import read_kinds

#: Seconds: how old the knowledge may be, and how old when a kind or queue is missing in it.
FRESH = 5.0
FRESH_ENOUGH_TO_MISS = 1.0


class Known:
    """A cache over the registry. Concurrent readers share one call."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._read_at = float("-inf")
        self._entries: dict[str, dict[str, KindEntry]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def all(self) -> Mapping[str, Mapping[str, KindEntry]]:
        """Entries by kind and queue, at most some seconds old."""
        await self._refresh(FRESH)
        return self._entries

    async def kind(self, kind: str, queue: str) -> Mapping[str, KindEntry]:
        """The entries of one kind by queue; looked up anew when the wanted one is missing."""
        await self._refresh(FRESH)
        if queue not in self._entries.get(kind, {}):
            await self._refresh(FRESH_ENOUGH_TO_MISS)
        return self._entries.get(kind, {})

    def remembered(self, kind: str) -> Mapping[str, KindEntry]:
        """The entries of one kind by queue as they were read last, however long ago."""
        return self._entries.get(kind, {})

    async def _refresh(self, age: float) -> None:
        # Waiting for the reading of others counts, or each of them would add its own time limit.
        await answer_in_time(self._read_unless(age))

    async def _read_unless(self, age: float) -> None:
        async with self._one_at_a_time:
            if time.monotonic() - self._read_at <= age:
                return
            self._entries = _grouped(await read_kinds(self._client))
            self._read_at = time.monotonic()


def _grouped(entries: Iterable[KindEntry]) -> dict[str, dict[str, KindEntry]]:
    found: dict[str, dict[str, KindEntry]] = {}
    for entry in entries:
        found.setdefault(entry.kind, {})[entry.queue] = entry
    return found
