"""Which queues may have a concurrency limit: looked up every other second by each worker that runs workflows.

A workflow cannot ask the server at no cost whether its queue has a limit, and nearly none has. So it looks here. What
stands here is a hint and nothing more: a workflow notes in its history that it followed it (`workflows.taking`), and
an activity reads the limit itself.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio.client import Client

from duetime.queue_concurrency import queue_concurrencies

log = logging.getLogger("duetime.worker")

#: How soon a new limit is known.
EVERY = timedelta(seconds=2)
#: What the first look may take before the worker begins all the same.
_FIRST = 5.0

#: By worker: there may be several in a process, of several servers.
_known: dict[object, frozenset[str]] = {}


def may_be_limited(queue: str) -> bool:
    """Whether some server that this process works for has a limit for a queue of this name."""
    return any(queue in queues for queues in list(_known.values()))


@asynccontextmanager
async def watching(client: Client) -> AsyncIterator[None]:
    """Keeps the hints fresh; they are there when this is entered, unless the server does not answer."""
    me = object()
    try:
        async with asyncio.timeout(_FIRST):
            await _look(client, me)
    except TimeoutError:
        log.warning("the concurrency limits of queues could not be read yet")
    task = asyncio.create_task(_watch(client, me))
    try:
        yield
    finally:
        task.cancel()
        _known.pop(me, None)


async def _watch(client: Client, me: object) -> None:
    while True:
        await asyncio.sleep(EVERY.total_seconds())
        await _look(client, me)


async def _look(client: Client, me: object) -> None:
    try:
        _known[me] = frozenset(await queue_concurrencies(client))
    except Exception as error:  # whatever it is: the next look may succeed
        log.info("the concurrency limits of queues could not be read, the last known ones hold: %s", error)
