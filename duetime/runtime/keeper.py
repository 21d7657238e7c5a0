"""A thread with an event loop of its own, where leases are kept and the ends of attempts are told.

Handlers may block the loop they run on, against all advice. On a loop of their own the leases of all *other* attempts
of the worker outlive that, results that are ready go out, and somebody is there to say who blocks it.
"""

import asyncio
import contextlib
import contextvars
import math
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from duetime.runtime import clock

Result = TypeVar("Result")


class Later:
    """Work that a keeper begins at `at`, in seconds of `runtime.clock`, unless it is cancelled before."""

    def __init__(self, at: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.at, self._work = at, work
        self._lock = threading.Lock()
        self._cancelled = False
        # The asker's, whoever's look it is that finds it due: what is logged speaks for the right attempt.
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        return self._cancelled

    def begin(self) -> None:
        """On the keeper's loop."""
        with self._lock:
            if not self._cancelled:
                self._task = asyncio.get_running_loop().create_task(self._work(), context=self._context)

    def cancel(self) -> None:
        """From any thread; of what has begun too."""
        with self._lock:
            self._cancelled = True
            task = self._task
        if task is not None and not task.done():
            task.get_loop().call_soon_threadsafe(task.cancel)


class Keeper:
    """Runs coroutines on a thread of its own between `start` and `stop`, and on the caller's loop else."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._later: list[Later] = []
        #: When it looks at `_later` the next time.
        self._looks_at = math.inf
        self._timer: asyncio.TimerHandle | None = None

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

    def run_later(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> Later:
        """`work`, begun in so many seconds. Most of it is cancelled before, and costs the keeper's thread nothing: a
        worker of many short attempts would wake it twice for each."""
        later = Later(clock.now() + seconds, work)
        with self._lock:
            self._later.append(later)
            looks = later.at >= self._looks_at
            self._looks_at = min(self._looks_at, later.at)
        if not looks:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._look)
        return later

    def _look(self) -> None:
        """Begins what is due, and comes again for the rest."""
        now = clock.now()
        with self._lock:
            waiting = [later for later in self._later if not later.over]
            due = [later for later in waiting if later.at <= now]
            self._later = [later for later in waiting if later.at > now]
            self._looks_at = min((later.at for later in self._later), default=math.inf)
            if self._timer is not None:
                self._timer.cancel()
            if self._later:
                self._timer = asyncio.get_running_loop().call_later(self._looks_at - now, self._look)
        for later in due:
            later.begin()

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
