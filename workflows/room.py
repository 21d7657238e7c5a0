"""How many children a workflow may have under way, and begin at once: pure, from how far its history has grown.

The server ends a workflow whose history goes beyond 50 MiB or 51,200 events, and takes no more than 4 MiB of commands
at once (https://docs.temporal.io/cloud/limits). Every child adds what it is given and what it returns. What it returns
nobody can refuse any more, so as much as it may return is set aside when it begins.
"""

from dataclasses import dataclass

from duetime.contracts import limits

_MIB = 1024 * 1024
#: From here on a history is renewed: nothing begins any more, and what is under way ends first.
WORN_BYTES, WORN_EVENTS = 16 * _MIB, 20_000
#: What a history may grow to with all that is under way. The rest, to 50 MiB, is for what the workflow itself writes.
MOST_BYTES = 46 * _MIB
#: The most that comes back of a job: its result, its checkpoint, its attempts, and what is around them.
JOB_RETURNS = limits.RESULT_BYTES + limits.CHECKPOINT_BYTES + limits.PIPELINE_ATTEMPTS_BYTES + 16 * 1024
#: The most that comes back of a job with items: what of their results can be referred to, and a letter for each.
ITEMS_RETURN = limits.ITEM_RESULTS_BYTES + 64 * 1024
#: Set aside for a child whose like has not been seen yet, where `room_for` guesses.
_RESERVE, _GUESSED_BYTES = 64 * 1024, 44 * _MIB
#: Input of children that one workflow task may begin, and how many.
_TASK_BYTES, _TASK_CHILDREN = 1536 * 1024, 200


def is_worn(size: int, events: int) -> bool:
    """Whether a history is to be renewed."""
    return size >= WORN_BYTES or events >= WORN_EVENTS


def room_for(parallel: int, running: int, size: int, events: int, largest: int) -> int:
    """How many more children may be planned, where one costs up to `largest` bytes of history: a guess, since it is not
    known yet what they are given. `fits` has the last word on each."""
    if is_worn(size, events):
        return 0
    return max(0, min(parallel, (_GUESSED_BYTES - size) // max(largest, _RESERVE)) - running)


def fits(size: int, worn: bool, reserved: int, given: int, returns: int) -> bool:
    """Whether a child that is given so much, and may return so much, may begin beside those under way, for which
    `reserved` bytes are set aside. One alone always may, in a history that is not worn."""
    if worn:
        return False
    return not reserved or size + reserved + given + returns <= MOST_BYTES


@dataclass
class TaskBudget:
    """What one workflow task may still begin. Tasks are told apart by the length of the history."""

    events: int = -1
    left_bytes: int = _TASK_BYTES
    left_children: int = _TASK_CHILDREN

    @property
    def taken(self) -> int:
        """Input of the children that the task began."""
        return _TASK_BYTES - self.left_bytes

    def allows(self, size: int, events: int) -> bool:
        """Whether a child with so much input may begin in the workflow task that began at this length."""
        if events != self.events:
            self.events, self.left_bytes, self.left_children = events, _TASK_BYTES, _TASK_CHILDREN
        return self.left_children > 0 and (size <= self.left_bytes or self.left_bytes == _TASK_BYTES)

    def take(self, size: int, events: int) -> bool:
        """The same, and takes it."""
        if not self.allows(size, events):
            return False
        self.left_bytes -= size
        self.left_children -= 1
        return True
