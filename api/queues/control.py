"""Commands on one queue: pause, resume, limit. The server itself keeps and obeys them; workers need not know."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from temporalio.client import Client

from api.patience import in_time
from duetime.contracts.job import Contract
from duetime.contracts.pauses import REASON_BYTES, WHO_BYTES, Note
from duetime.queue_limit import QueueLimit, queue_limit, set_queue_limit

log = logging.getLogger("duetime.api")

#: Starts a second; more than a partition of the server hands out by itself limits nothing.
HIGHEST_RATE = 100_000.0
_API = "api"

Change = Callable[[QueueLimit], QueueLimit]


def _fits(size: int) -> AfterValidator:
    def check(text: str) -> str:
        if any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) <= 0xDFFF for char in text):
            raise ValueError("holds a control character or a lone surrogate")
        if len(text.encode()) > size:
            raise ValueError(f"at most {size} bytes of UTF-8")
        return text

    return AfterValidator(check)


Reason = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    _fits(REASON_BYTES),
    Field(examples=["deploy"]),
]
Who = Annotated[
    str, StringConstraints(min_length=1, strip_whitespace=True), _fits(WHO_BYTES), Field(examples=["alice"])
]


class PauseRequest(Contract):
    """Why, for those who find the queue paused, and who says so."""

    reason: Reason
    by: Who = _API


class ResumeRequest(Contract):
    """Who says so."""

    by: Who = _API


class RateRequest(Contract):
    """How many starts a second the queue allows; null takes the limit away."""

    per_second: Annotated[float, Field(strict=True, gt=0, le=HIGHEST_RATE, allow_inf_nan=False)] | None
    reason: Reason
    by: Who = _API


class QueueControl:
    """Changes the limits of queues. The server knows no compare-and-set: of two at once, one waits here; the last of
    several API instances wins."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._one_at_a_time = asyncio.Lock()

    async def pause(self, name: str, request: PauseRequest) -> None:
        """Hands out nothing of this queue until it is resumed. What runs goes on."""

        def change(limit: QueueLimit) -> QueueLimit:
            note, rate = limit.note, limit.rate
            if not limit.is_paused:
                why, who = (note.reason, note.by) if rate is not None else ("", "")
                note = replace(note, rate=rate, rate_reason=why, rate_by=who)
            note = replace(note, reason=request.reason, by=request.by, pauses=limit.pauses)
            return QueueLimit(0.0, note.paused(datetime.now(UTC)))

        await self._change(name, change)

    async def resume(self, name: str, request: ResumeRequest) -> None:
        """Hands out work again, at the rate from before the pause."""

        def change(limit: QueueLimit) -> QueueLimit:
            if not limit.is_paused:
                return limit
            before, ended = limit.note, replace(limit.note, pauses=limit.pauses).resumed(datetime.now(UTC))
            who = before.rate_by if before.rate is not None else request.by
            return QueueLimit(before.rate, Note(before.rate_reason, who, pauses=ended.pauses))

        await self._change(name, change)

    async def limit(self, name: str, request: RateRequest) -> None:
        """Sets how fast the queue hands out work; of a paused one, how fast once it is resumed."""

        def change(limit: QueueLimit) -> QueueLimit:
            note = replace(limit.note, pauses=limit.pauses)
            if limit.is_paused:
                note = replace(note, rate=request.per_second, rate_reason=request.reason, rate_by=request.by)
                return QueueLimit(0.0, note)
            return QueueLimit(request.per_second, replace(note, reason=request.reason, by=request.by))

        await self._change(name, change)

    async def _change(self, name: str, change: Change) -> None:
        async with in_time(), self._one_at_a_time:  # Waiting for one's turn counts.
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
