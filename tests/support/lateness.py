"""How late this machine is: what a test grants to whatever has to happen by an instant."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_TICK = 0.01


class Lateness:
    """`seconds`: the longest that a thread which wanted to run had to wait so far."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._over = threading.Event()

    def watch(self) -> None:
        while not self._over.is_set():
            asked = time.monotonic()
            time.sleep(_TICK)
            self.seconds = max(self.seconds, time.monotonic() - asked - _TICK)

    def end(self) -> None:
        self._over.set()


@contextmanager
def measured_lateness() -> Iterator[Lateness]:
    """Measures it for as long as this lasts. A thread, since a loop that stands still could not tell."""
    found = Lateness()
    thread = threading.Thread(target=found.watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.end()
        thread.join()
