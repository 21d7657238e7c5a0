"""Commands on one queue: pause, resume, limit. The server itself keeps and obeys them; workers need not know."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from weakref import WeakValueDictionary

from temporalio.client import Client

from api.patience import in_time
from api.security.caller import Caller
from duetime.contracts.pauses import Note
from duetime.contracts.queues import ConcurrencyRequest, PauseRequest, RateRequest
from duetime.queue_concurrency import lift_queue_concurrency, set_queue_concurrency
from duetime.queue_limit import QueueLimit, queue_limit, set_queue_limit

log = logging.getLogger("duetime.api")

Change = Callable[[QueueLimit], QueueLimit]


def said_by(given: str | None, caller: Caller) -> str:
    """Who did it: as they say, and whose key it was when there are keys."""
    if caller.key_id is None:
        return given or caller.name
    return f"{given} ({caller.name})" if given else caller.name


class QueueControl:
    """Changes the limits of queues. The server knows no compare-and-set: of two at once on one queue, one waits here;
    of two API instances, the last one wins."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._one_at_a_time: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def pause(self, name: str, request: PauseRequest, who: str) -> None:
        """Hands out nothing of this queue until it is resumed. What runs goes on."""

        def change(limit: QueueLimit) -> QueueLimit:
            note, rate = limit.note, limit.rate
            if not limit.is_paused:
                why, by = (note.reason, note.by) if rate is not None else ("", "")
                note = replace(note, rate=rate, rate_reason=why, rate_by=by)
            note = replace(note, reason=request.reason, by=who, pauses=limit.pauses)
            return QueueLimit(0.0, note.paused(datetime.now(UTC)))

        await self._change(name, change)

    async def resume(self, name: str, who: str) -> None:
        """Hands out work again, at the rate from before the pause."""

        def change(limit: QueueLimit) -> QueueLimit:
            if not limit.is_paused:
                return limit
            before, ended = limit.note, replace(limit.note, pauses=limit.pauses).resumed(datetime.now(UTC))
            by = before.rate_by if before.rate is not None else who
            return QueueLimit(before.rate, Note(before.rate_reason, by, pauses=ended.pauses))

        await self._change(name, change)

    async def limit(self, name: str, request: RateRequest, who: str) -> None:
        """Sets how fast the queue hands out work; of a paused one, how fast once it is resumed."""

        def change(limit: QueueLimit) -> QueueLimit:
            note = replace(limit.note, pauses=limit.pauses)
            if limit.is_paused:
                note = replace(note, rate=request.per_second, rate_reason=request.reason, rate_by=who)
                return QueueLimit(0.0, note)
            return QueueLimit(request.per_second, replace(note, reason=request.reason, by=who))

        await self._change(name, change)

    async def limit_concurrency(self, name: str, request: ConcurrencyRequest, who: str) -> None:
        """Sets how many jobs of the queue run at once."""
        await set_queue_concurrency(self._client, name, request.limit, request.reason, who)
        log.info("queue %s: at most %d at once, by %s: %s", name, request.limit, who, request.reason)

    async def lift_concurrency(self, name: str, who: str) -> None:
        """Takes that limit away."""
        await lift_queue_concurrency(self._client, name)
        log.info("queue %s: as many at once as its workers take, by %s", name, who)

    async def _change(self, name: str, change: Change) -> None:
        turn = self._one_at_a_time.setdefault(name, asyncio.Lock())
        async with in_time(), turn:  # Waiting for one's turn counts.
            await self._carry_out(name, change)

    async def _carry_out(self, name: str, change: Change) -> None:
        before = await queue_limit(self._client, name)
        after = change(before)
        if after != before:
            await set_queue_limit(self._client, name, after.rate, after.note)
            log.info("queue %s: limit %s, by %s: %s", name, _said(after), after.note.by, after.note.reason)


def _said(limit: QueueLimit) -> str:
    if limit.rate is None:
        return "none"
    return "paused" if limit.is_paused else f"{limit.rate:g} a second"
