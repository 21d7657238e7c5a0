"""What strangers can cause is logged seldom: a flood of bad calls must not become a flood of lines."""

import time
from collections.abc import Callable


class Seldom:
    """Lets one of many through every `seconds`."""

    def __init__(self, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._next = float("-inf")
        self._count = 0

    def turn(self) -> int:
        """0 when it is not time yet; otherwise how many came since the last time, this one included."""
        self._count += 1
        if self._clock() < self._next:
            return 0
        self._next = self._clock() + self._seconds
        count, self._count = self._count, 0
        return count
