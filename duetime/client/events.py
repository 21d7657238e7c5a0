"""Server-Sent Events, gone on with after every interruption."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator
from datetime import timedelta

import httpx2

from duetime.client.answer import error_of
from duetime.client.call import Call, Repeat
from duetime.client.connections import Connections
from duetime.client.patience import PASSING, Fate, wait_before_repeat
from duetime.client.sender import no_answer
from duetime.errors import ApiError

log = logging.getLogger("duetime.client")

#: Without even a comment for so long, nobody is there: the API sends one every 15 s.
_SILENCE = 45.0


class Listener:
    """Listens to streams of the API at `url`; `patience` bounds how long it tries to get back to one."""

    def __init__(self, url: str, connections: Connections, patience: timedelta) -> None:
        self._url = url
        self._connections = connections
        self._patience = patience

    async def listen(self, call: Call, last_event_id: str | None) -> AsyncGenerator[httpx2.ServerSentEvent]:
        """Events without an end, from the one after `last_event_id`. `ApiError` when the API refuses or stays away."""
        tries, heard_at, pause = 0, time.monotonic(), timedelta(0)
        while True:
            error: ApiError | None = None
            try:
                async for event in self._connection(call, last_event_id):
                    tries, heard_at = 0, time.monotonic()
                    last_event_id = event.id or last_event_id
                    if event.retry is not None:
                        pause = timedelta(milliseconds=event.retry)
                    yield event
                    heard_at = time.monotonic()  # what the caller did meanwhile does not count
            except httpx2.TransportError as failure:
                error = no_answer(self._url, failure)
            except ApiError as refusal:
                if refusal.status not in PASSING:
                    raise
                error = refusal
            left = self._patience - timedelta(seconds=time.monotonic() - heard_at)
            wait = wait_before_repeat(
                Fate.NOT_DONE,
                Repeat.ALWAYS,
                tries,
                left,
                random.random(),  # noqa: S311
                error.retry_after if error and error.retry_after else pause,
            )
            tries += 1
            if wait is None:
                raise error or no_answer(self._url, httpx2.ReadError("it ends again and again"))
            log.info("%s: %s; again in %.1f s", call, error or "the stream ended", wait.total_seconds())
            await asyncio.sleep(wait.total_seconds())

    async def _connection(
        self, call: Call, last_event_id: str | None
    ) -> AsyncGenerator[httpx2.ServerSentEvent]:
        pool = self._connections.pool()
        headers = {"Last-Event-ID": last_event_id} if last_event_id is not None else {}
        patience = httpx2.Timeout(_SILENCE, connect=pool.timeout.connect)
        async with pool.sse(self._url + call.path, headers=headers, timeout=patience) as source:
            if not source.response.is_success:
                await source.response.aread()
                raise error_of(source.response)
            async for event in source:
                yield event
