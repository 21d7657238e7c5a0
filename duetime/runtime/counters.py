"""What a worker counts about its leases and results, for its logs and for metrics."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields


@dataclass
class Counters:
    """Totals since the worker began. `add` is safe from any thread."""

    #: Leases that ended under their handlers: not renewed in time, or the server said so.
    leases_lost: int = 0
    #: Signs of life without an answer.
    heartbeats_unanswered: int = 0
    #: Signs of life that the server did not know an attempt for.
    heartbeats_refused: int = 0
    #: Attempts that were taken long ago and already somebody else's before they began here.
    stale_starts: int = 0
    #: Handlers that ended after their lease was lost; what they returned was not even sent.
    late_results: int = 0
    #: Endings that the server refused, and those of which nobody knows whether it took them.
    results_refused: int = 0
    results_unknown: int = 0
    #: Handlers that did not stop when told to and were left behind.
    handlers_left_behind: int = 0
    #: Times that the event loop stood still for too long because of a handler.
    loop_blocks: int = 0
    #: Called with the name of each, for metrics.
    on_add: Callable[[str], None] = field(default=lambda name: None, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, name: str) -> None:
        """Counts one more of `name`."""
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)
        self.on_add(name)

    def snapshot(self) -> dict[str, int]:
        """All totals by name."""
        with self._lock:
            return {name: getattr(self, name) for name in self.names()}

    @classmethod
    def names(cls) -> list[str]:
        """What is counted."""
        return [item.name for item in fields(cls) if item.type is int]
