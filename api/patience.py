"""How long the API waits for Temporal: a caller has an answer within five seconds."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

from api.problems import is_no_connection, unavailable, unreached

#: Seconds.
PATIENCE = 4.5

_until: ContextVar[float] = ContextVar("until", default=0.0)

Result = TypeVar("Result")


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """What is awaited inside shares `PATIENCE`, counted from the outermost of these; a `503` problem beyond it.

    Also a decorator: `@in_time()`.
    """
    now = asyncio.get_running_loop().time()
    until = _until.get() if _until.get() > now else now + PATIENCE
    token = _until.set(until)
    try:
        async with asyncio.timeout_at(until) as patience:
            yield
    except TimeoutError:
        if not patience.expired():
            raise
        raise unavailable(
            "Temporal did not answer in time; the outcome may be unknown: repeat with the same id or key"
        ) from None
    except RuntimeError as error:
        if not is_no_connection(error):
            raise
        raise unreached() from None
    finally:
        _until.reset(token)


def time_left() -> float:
    """Seconds until the caller's patience ends; all of it outside `in_time`."""
    now = asyncio.get_running_loop().time()
    return _until.get() - now if _until.get() > now else PATIENCE


async def answer_in_time(call: Awaitable[Result]) -> Result:
    """What `call` returns, in time."""
    async with in_time():
        return await call
