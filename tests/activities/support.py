"""What the tests of the built-in kinds share."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

#: For calls without TLS: reading the machine's certificates takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class FakeJob:
    id: str = "job-1"
    attempt: int = 2
    fencing_token: int = 1_796_000_000_123_456
    idempotency_key: str = "key-1"
    nominal_time: datetime | None = None


async def eventually(fact: Callable[[], object]) -> None:
    """Waits until `fact` holds; the test's own timeout is the only bound."""
    while not fact():  # noqa: ASYNC110 - the facts are those of other processes
        await asyncio.sleep(0.01)
