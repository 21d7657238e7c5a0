"""Sends calls: again where that is safe, never beyond the deadline."""

import asyncio
import logging
import random
import time
from datetime import timedelta

import httpx2

from duetime.client.answer import error_of, unreachable
from duetime.client.call import Call
from duetime.client.connections import Connections
from duetime.client.patience import PASSING, Fate, wait_before_repeat
from duetime.errors import ApiError, RateLimited, Unreachable

log = logging.getLogger("duetime.client")

#: What one try may take beyond what the API holds it on purpose; the API itself answers within five seconds.
ONE_TRY = timedelta(seconds=15)

#: Errors before anything of the request was sent.
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)


class Sender:
    """Carries calls to the API at `url`; `patience` is what a call may take, with all its tries."""

    def __init__(self, url: str, connections: Connections, patience: timedelta) -> None:
        self._url = url
        self._connections = connections
        self.patience = patience

    async def send(self, call: Call) -> httpx2.Response:
        """A successful answer, read to its end; an `ApiError` otherwise."""
        until = time.monotonic() + (self.patience + call.wait).total_seconds()
        tries = 0
        while True:
            left = timedelta(seconds=until - time.monotonic())
            outcome = await self._try(call, min(left, ONE_TRY + call.wait))
            if isinstance(outcome, httpx2.Response):
                return outcome
            fate, error = outcome
            tries += 1
            left = timedelta(seconds=until - time.monotonic())
            wait = None
            if fate is not None:
                chance = random.random()  # noqa: S311
                wait = wait_before_repeat(fate, call.repeat, tries, left, chance, error.retry_after)
            if wait is None:
                raise error
            log.info("%s: %s; again in %.1f s", call, error, wait.total_seconds())
            await asyncio.sleep(wait.total_seconds())

    async def _try(self, call: Call, patience: timedelta) -> httpx2.Response | tuple[Fate | None, ApiError]:
        """One try: an answer, or what became of it; no fate when there is nothing to hope for."""
        pool = self._connections.pool()
        headers = dict(call.headers)
        if call.key is not None:
            headers["Idempotency-Key"] = call.key
        request = pool.build_request(
            call.method,
            self._url + call.path,
            params={name: value for name, value in call.query.items() if value},
            json=call.body,
            headers=headers,
            extensions=dict(call.notes),
        )
        try:
            async with asyncio.timeout(max(0.0, patience.total_seconds())):
                response = await pool.send(request)
        except (httpx2.TransportError, TimeoutError) as error:
            failed = no_answer(self._url, error)
            return Fate.UNKNOWN if failed.outcome_unknown else Fate.NOT_DONE, failed
        if response.is_success:
            return response
        refused = error_of(response)
        if response.status_code not in PASSING:
            return None, refused
        return Fate.NOT_DONE if isinstance(refused, RateLimited) else Fate.UNKNOWN, refused


def no_answer(url: str, error: Exception) -> Unreachable:
    """The exception for a call that was not answered because of `error`."""
    return unreachable(url, _why(error), sent=not isinstance(error, _NOT_SENT))


def _why(error: Exception) -> str:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"it cannot be connected to ({str(error) or 'nothing in time'}); does the API run there?"
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return "nothing came in time"
    return f"the connection broke ({str(error) or type(error).__name__})"
