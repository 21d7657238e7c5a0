"""Hearing early that this process is told to stop.

A server such as uvicorn waits for open answers to end before it tells the app that it stops; an answer that goes on for
as long as a job does would hold it up. So the signals are listened to here as well.
"""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]


@contextlib.contextmanager
def when_told_to_stop(act: Callable[[], None]) -> Iterator[None]:
    """Calls `act` in the running loop when SIGINT or SIGTERM comes, and leaves what else follows to who had it.

    Where signals cannot be had (another thread, nobody who handles them) this does nothing.
    """
    loop = asyncio.get_running_loop()
    earlier: dict[int, _Handler] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(act)
        earlier[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                earlier[number] = handler
                signal.signal(number, handle)
    try:
        yield
    finally:
        for taken, handler in earlier.items():
            if signal.getsignal(taken) is handle:
                signal.signal(taken, handler)
