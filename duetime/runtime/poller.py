"""The SDK's worker, with an end to its shutdown.

When every activity has ended and was told, the SDK still waits for its core to finish, and at rare times (one shutdown
in some thousands, on a busy machine) that never happens. A service that shuts its worker down must not hang on that.
"""

import asyncio
import logging
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from duetime.observe.runtime import promises

log = logging.getLogger("duetime.worker")

#: Seconds beyond the grace: for handlers that clean up, for their endings to be told, and for the core to finish.
SLACK = 20.0
_FAREWELL = 5.0


class Poller(Worker):
    """A worker whose shutdown ends, at the latest, `SLACK` seconds after the grace."""

    def __init__(
        self, client: Client, *, graceful_shutdown_timeout: timedelta = timedelta(0), **options: Any
    ) -> None:
        promised = promises()
        promised["plugins"] = [*options.pop("plugins", []), *promised["plugins"]]
        super().__init__(client, graceful_shutdown_timeout=graceful_shutdown_timeout, **(promised | options))
        self._patience = graceful_shutdown_timeout.total_seconds() + SLACK
        self._run_by: asyncio.Task[Any] | None = None
        self._given_up = False

    async def run(self) -> None:
        self._run_by = asyncio.current_task()
        await super().run()

    async def shutdown(self) -> None:
        """As the SDK's, and returns without it when that does not end."""
        if self._given_up:
            return
        ending = asyncio.ensure_future(super().shutdown())
        if (await asyncio.wait([ending], timeout=self._patience))[0]:
            return
        log.error("the worker of queue %s does not finish its shutdown: it is left behind", self.task_queue)
        self._given_up = True
        if self._run_by is not None:
            self._run_by.cancel()
        await asyncio.wait([ending], timeout=_FAREWELL)
        ending.cancel()
