"""A thread with an event loop of its own, where leases are kept and the ends of attempts are told.

Handlers may block the loop they run on, against all advice. On a loop of their own the leases of all *other* attempts
of the worker outlive that, results that are ready go out, and somebody is there to say who blocks it.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Keeper:
    """Runs coroutines on a thread of its own between `start` and `stop`, and on the caller's loop else."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        # A daemon: a worker that is left without `stop` must be able to end.
        self._thread = threading.Thread(target=self._run, args=(loop,), name="duetime leases", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Ends what still runs there, and the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = None
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Where its coroutines run."""
        return self._loop or asyncio.get_running_loop()

    def run(self, work: Coroutine[Any, Any, Result]) -> "asyncio.Future[Result]":
        """`work` under way, as a future of the caller's loop; cancelling that cancels the work."""
        if self._loop is None:
            return asyncio.ensure_future(work)
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls `function` there soon."""
        self.loop.call_soon_threadsafe(function, *arguments)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            loop.close()
