"""Running a handler's function, on the loop or in a thread, so that it can be stopped and its end told apart.

Nothing that a handler raises escapes: `SystemExit` in a handler must not end the worker.
"""

import asyncio
import contextlib
import contextvars
import ctypes
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol


class JobCancelled(BaseException):
    """Raised inside a `def` handler when it must stop; the counterpart of `asyncio.CancelledError`."""


@dataclass(frozen=True)
class Returned:
    value: Any


@dataclass(frozen=True)
class Raised:
    error: BaseException


End = Returned | Raised


class Execution(Protocol):
    """A handler under way."""

    future: asyncio.Future[End]

    def stop(self) -> None:
        """Asks the handler to stop; it may still clean up. From any thread."""


def end_of(execution: Execution) -> End:
    """How a handler that is done ended; one that was stopped before its first step never began."""
    if execution.future.cancelled():
        return Raised(asyncio.CancelledError())
    return execution.future.result()


class LoopExecution:
    """An `async def` handler."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[End] = asyncio.ensure_future(self._run(coroutine))
        # Only matters when it was stopped before its first step.
        self.future.add_done_callback(lambda _: coroutine.close())

    def stop(self) -> None:
        if asyncio._get_running_loop() is self._loop:
            self.future.cancel()
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.future.cancel)

    @staticmethod
    async def _run(coroutine: Coroutine[Any, Any, Any]) -> End:
        try:
            return Returned(await coroutine)
        except BaseException as error:
            return Raised(error)


class ThreadExecution:
    """A `def` handler, in a thread of its own; stopped by an exception raised inside it.

    The exception arrives at the handler's next step of Python code: a call that blocks in C ends first. A thread of
    its own, because one left behind by a handler that never ends must neither take the place of the next handler nor
    keep the process from ending, and because a late exception must not reach anybody else's code.
    """

    def __init__(self, call: Callable[[], Any], name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._open = True
        self.future: asyncio.Future[End] = self._loop.create_future()
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run, call), name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._lock:
            if self._open and self._thread.ident is not None:
                _raise_in(self._thread.ident, JobCancelled)

    def _run(self, call: Callable[[], Any]) -> None:
        end: End = Raised(JobCancelled())
        called = closed = False
        # A request to stop may arrive at any step until the door is closed, the second one of two included.
        while not closed:
            try:
                if not called:
                    called = True
                    end = self._call(call)
                closed = self._close()
            except JobCancelled:
                continue
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, end)

    @staticmethod
    def _call(call: Callable[[], Any]) -> End:
        try:
            return Returned(call())
        except BaseException as error:
            return Raised(error)

    def _close(self) -> bool:
        with self._lock:
            self._open = False
            _raise_in(threading.get_ident(), None)
        return True

    def _settle(self, end: End) -> None:
        if not self.future.done():
            self.future.set_result(end)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raises `error` in a thread at its next step; `None` takes back one that has not arrived yet."""
    exception = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
