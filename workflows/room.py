"""How many children a workflow may have under way, and begin at once: pure, from how far its history has grown.

The server ends a workflow whose history goes beyond 50 MiB or 51,200 events, and takes no more than 4 MiB of commands
at once (https://docs.temporal.io/cloud/limits). Every child adds what it is given and what it returns.
"""

from dataclasses import dataclass

_MIB = 1024 * 1024
#: From here on a history is renewed: nothing begins any more, and what is under way ends first.
WORN_BYTES, WORN_EVENTS = 16 * _MIB, 20_000
#: What a history may grow to, and what is set aside for a child whose like has not been seen yet.
_MOST_BYTES, _RESERVE = 44 * _MIB, 64 * 1024
#: Input of children that one workflow task may begin, and how many.
_TASK_BYTES, _TASK_CHILDREN = 1536 * 1024, 200


def is_worn(size: int, events: int) -> bool:
    """Whether a history is to be renewed."""
    return size >= WORN_BYTES or events >= WORN_EVENTS


def room_for(parallel: int, running: int, size: int, events: int, largest: int) -> int:
    """How many more children may begin, where one costs up to `largest` bytes of history."""
    if is_worn(size, events):
        return 0
    return max(0, min(parallel, (_MOST_BYTES - size) // max(largest, _RESERVE)) - running)


@dataclass
class TaskBudget:
    """What one workflow task may still begin. Tasks are told apart by the length of the history."""

    events: int = -1
    left_bytes: int = _TASK_BYTES
    left_children: int = _TASK_CHILDREN

    def take(self, size: int, events: int) -> bool:
        """Whether a child with so much input may begin in the workflow task that began at this length."""
        if events != self.events:
            self.events, self.left_bytes, self.left_children = events, _TASK_BYTES, _TASK_CHILDREN
        if self.left_children <= 0 or (size > self.left_bytes and self.left_bytes < _TASK_BYTES):
            return False
        self.left_bytes -= size
        self.left_children -= 1
        return True
