"""Running a handler's function, on the loop or in a thread, so that it can be stopped and its end told apart.

Nothing that a handler raises escapes: `SystemExit` in a handler must not end the worker.
"""

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
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
        """Asks the handler to stop; it may still clean up."""


class LoopExecution:
    """An `async def` handler."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.future: asyncio.Future[End] = asyncio.ensure_future(self._run(coroutine))

    def stop(self) -> None:
        self.future.cancel()

    @staticmethod
    async def _run(coroutine: Coroutine[Any, Any, Any]) -> End:
        try:
            return Returned(await coroutine)
        except BaseException as error:
            return Raised(error)


class ThreadExecution:
    """A `def` handler, in a thread of `executor`; stopped by an exception raised inside it.

    The exception arrives at the handler's next step of Python code: a call that blocks in C ends first.
    """

    def __init__(self, executor: Executor, call: Callable[[], Any]) -> None:
        self._thread: int | None = None
        self._lock = threading.Lock()
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[End] = asyncio.ensure_future(
            loop.run_in_executor(executor, context.run, self._run, call)
        )

    def stop(self) -> None:
        with self._lock:
            if self._thread is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(JobCancelled)
                )

    def _run(self, call: Callable[[], Any]) -> End:
        try:
            return self._guarded(call)
        except JobCancelled as late:  # it arrived between the handler's end and here
            return Raised(late)

    def _guarded(self, call: Callable[[], Any]) -> End:
        with self._lock:
            self._thread = threading.get_ident()
        try:
            end: End = Returned(call())
        except BaseException as error:
            end = Raised(error)
        with self._lock:
            self._thread = None
        return end
