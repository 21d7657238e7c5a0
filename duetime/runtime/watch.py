"""Who blocks the event loop: found by asking it, from another thread, for a sign of life."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from duetime.runtime.counters import Counters

log = logging.getLogger("duetime.loop")

#: How often the loop is asked, and how long it may take before it is said to be blocked, in seconds.
_EVERY = 0.5
PATIENCE = 1.0
#: While it stays blocked, it is said again when it has lasted this many times as long.
_AGAIN = 4
_STACK = 12
_NAMED = 20


class Occupant(Protocol):
    """An attempt that runs on the loop, or beside it in a thread."""

    @property
    def job_id(self) -> str: ...

    @property
    def task(self) -> "asyncio.Future[Any] | None": ...


class LoopWatch:
    """Watches the loop that it is made on; `watch` runs on another one."""

    def __init__(self, occupants: Callable[[], Iterable[Occupant]], counters: Counters) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._occupants = occupants
        self._counters = counters

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            await self._ask()

    async def _ask(self) -> None:
        """One question and its answer, however long that takes."""
        answered, here = asyncio.Event(), asyncio.get_running_loop()
        try:
            self._loop.call_soon_threadsafe(here.call_soon_threadsafe, answered.set)
        except RuntimeError:  # the loop is closed
            return
        begun, limit, blocked = time.monotonic(), PATIENCE, False
        while not answered.is_set():
            due = begun + limit
            try:
                async with asyncio.timeout(due - time.monotonic()):
                    await answered.wait()
            except TimeoutError:
                now = time.monotonic()
                if now - due > _EVERY:  # this thread stood still as well: the whole process was stopped
                    begun = now
                    continue
                if not blocked:
                    self._counters.add("loop_blocks")
                blocked, limit = True, limit * _AGAIN
                self._report(now - begun)
        if blocked:
            log.warning("the event loop goes on, after %.1f s", time.monotonic() - begun)

    def _report(self, seconds: float) -> None:
        frame = sys._current_frames().get(self._thread)
        stack = "".join(traceback.format_stack(frame, limit=None)[-_STACK:]) if frame else "(no stack)\n"
        occupants = list(self._occupants())
        task = asyncio.current_task(self._loop)
        culprit = next((one.job_id for one in occupants if task is not None and one.task is task), None)
        by = f"the handler of job {culprit}" if culprit else "what runs on it"
        running = ", ".join([one.job_id for one in occupants][:_NAMED]) or "none"
        log.error(
            "the event loop has been blocked for %.1f s by %s: do such work in a `def` handler or a thread. "
            "Jobs running here: %s. It is in:\n%s",
            seconds,
            by,
            running,
            stack.rstrip(),
        )
