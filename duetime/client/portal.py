"""A private event loop in a thread, for callers that have none."""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Thread:
    """One loop in one thread of one process."""

    def __init__(self, name: str) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=_run, args=(self.loop,), name=name, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        if self.pid == os.getpid() and self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            if self.thread is not threading.current_thread():
                self.thread.join()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for task in (tasks := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


class Portal:
    """Runs coroutines from any thread. The loop starts with the first one, anew in a process that was forked since."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._at: _Thread | None = None

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What `work` returns or raises. Ctrl-C cancels it."""
        at = self._thread()
        if at.thread is threading.current_thread():
            work.close()
            raise RuntimeError("called from its own event loop: use the asynchronous client there")
        future = asyncio.run_coroutine_threadsafe(work, at.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Ends the loop and what runs in it. A later call starts another."""
        with self._lock:
            at, self._at = self._at, None
        if at is not None:
            at.stop()

    def _thread(self) -> _Thread:
        with self._lock:
            if self._at is None or self._at.pid != os.getpid():
                self._at = _Thread(self._name)
                weakref.finalize(self, self._at.stop).atexit = False
            return self._at


def items_of(portal: Portal, items: AsyncGenerator[Result, None]) -> Iterator[Result]:
    """The items, each waited for when it is wanted."""
    try:
        while True:
            try:
                item = portal.call(_next(items))
            except StopAsyncIteration:
                return
            yield item
    finally:
        portal.call(_close(items))


async def _next(items: AsyncGenerator[Result, None]) -> Result:
    return await anext(items)


async def _close(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()
