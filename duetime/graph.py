"""What is next in a pipeline: pure decisions from its jobs, their conditions, and how they ended.

Nobody waits for what can no longer happen: with each end the jobs that need it are looked at again, and what cannot run
any more is skipped, with all that hangs on it. Over its whole life a graph costs time in proportion to its needs.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from duetime.contracts.pipeline import OnFailure, PipelineSpec, When
from duetime.contracts.pipeline_rules import in_order
from duetime.contracts.pipeline_state import BAD, FINAL_MARKS, Halt, Mark
from duetime.contracts.states import State

#: From the mildest to the hardest: one never gives way to a milder one.
_HALTS = (Halt.FAILURE, Halt.DEADLINE, Halt.CANCELLED, Halt.FORCED)
#: What still runs after each.
_SURVIVES: Mapping[Halt, frozenset[When]] = {
    Halt.FAILURE: frozenset({When.ANY_FAILED, When.ALL_FINISHED, When.ALWAYS}),
    Halt.DEADLINE: frozenset({When.ANY_FAILED, When.ALWAYS}),
    Halt.CANCELLED: frozenset({When.ALWAYS}),
    Halt.FORCED: frozenset(),
}
_STATE_AFTER = {Halt.DEADLINE: State.EXPIRED, Halt.CANCELLED: State.CANCELLED, Halt.FORCED: State.CANCELLED}


@dataclass
class Needs:
    """The jobs that one job needs, counted. What is neither good nor bad nor open was not needed itself."""

    total: int
    open: int
    good: int = 0
    bad: int = 0


def condition(when: When, needs: Needs) -> Mark | None:
    """`BEGUN` when the job is to run, the mark of a skipped one when it is not, `None` while that is not settled.

    The order in which needs ended does not matter. So one that was not needed settles nothing before all have ended:
    another may still fail, which is the better reason.
    """
    if (when is When.ANY_FAILED and needs.bad) or (when is When.ANY_SUCCEEDED and needs.good):
        return Mark.BEGUN
    if when is When.ALL_SUCCEEDED and needs.bad:
        return Mark.UPSTREAM_FAILED
    if needs.open:
        return None
    if when in (When.ALL_FINISHED, When.ALWAYS):
        return Mark.BEGUN
    if when is When.ALL_SUCCEEDED and needs.good == needs.total:
        return Mark.BEGUN
    return Mark.UPSTREAM_FAILED if when is When.ANY_SUCCEEDED and needs.bad else Mark.NOT_NEEDED


class Graph:
    """The jobs of one pipeline and how they stand. Told of ends and halts, it says what to begin and what to cancel."""

    def __init__(
        self, spec: PipelineSpec, marks: Mapping[str, Mark] | None = None, halt: Halt | None = None
    ) -> None:
        """`marks` are final ones of an earlier run; every other job waits."""
        self._spec = spec
        self._order = {name: index for index, name in enumerate(spec.jobs)}
        self.marks = dict.fromkeys(spec.jobs, Mark.WAITING)
        self.halt = halt
        self._needed_by: dict[str, list[str]] = {name: [] for name in spec.jobs}
        self._needs: dict[str, Needs] = {}
        for name, job in spec.jobs.items():
            self._needs[name] = Needs(len(job.needs), len(job.needs))
            for needed in job.needs:
                self._needed_by[needed].append(name)
        #: A heap: priority, place in the input, name; and the names in it.
        self._ready: list[tuple[int, int, str]] = []
        self._chosen: set[str] = set()
        self.running: dict[str, None] = {}
        #: Jobs in the order in which they came to their end.
        self.settled: list[str] = []
        known = {name: mark for name, mark in (marks or {}).items() if mark in FINAL_MARKS}
        for name, mark in known.items():
            self._settle(name, mark)
        self._look([name for name in spec.jobs if name not in known])

    # -- what happens ---------------------------------------------------------------------------------------

    def end(self, name: str, mark: Mark) -> None:
        """A job under way has ended. What hangs on it is settled as far as it can be."""
        self.running.pop(name, None)
        self._settle(name, mark)
        if mark in BAD and self._spec.on_failure is OnFailure.STOP:
            self.stop(Halt.FAILURE)
        self._look(self._needed_by[name])

    def stop(self, halt: Halt) -> None:
        """No more jobs begin but those that survive this halt; a harder one was there already, or overrides."""
        if self.halt is not None and _HALTS.index(self.halt) >= _HALTS.index(halt):
            return
        self.halt = halt
        self._ready = [entry for entry in self._ready if self._survives(entry[-1])]
        heapq.heapify(self._ready)
        self._chosen = {entry[-1] for entry in self._ready}
        self._look([name for name, mark in self.marks.items() if mark is Mark.WAITING])

    def begin(self, room: int | None = None) -> list[str]:
        """The jobs to begin now, at most `room` of them: the most urgent first, then as the pipeline names them."""
        begun: list[str] = []
        while self._ready and (room is None or len(begun) < room):
            name = heapq.heappop(self._ready)[-1]
            self.marks[name] = Mark.BEGUN
            self.running[name] = None
            begun.append(name)
        return begun

    # -- what follows ---------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        return len(self.settled) == len(self.marks)

    def to_cancel(self) -> list[str]:
        """The jobs under way that the halt ends."""
        return [name for name in self.running if not self._survives(name)]

    def state(self) -> State:
        """How the pipeline as a whole has ended."""
        if not any(mark in BAD for mark in self.marks.values()):
            return State.SUCCEEDED
        return _STATE_AFTER.get(self.halt, State.FAILED) if self.halt else State.FAILED

    @property
    def letters(self) -> str:
        """All marks, in the order of the input."""
        return "".join(self.marks.values())

    # -- how ------------------------------------------------------------------------------------------------

    def _survives(self, name: str) -> bool:
        return self.halt is None or self._spec.jobs[name].when in _SURVIVES[self.halt]

    def _settle(self, name: str, mark: Mark) -> None:
        self.marks[name] = mark
        self.settled.append(name)
        for other in self._needed_by[name]:
            needs = self._needs[other]
            needs.open -= 1
            needs.good += mark is Mark.SUCCEEDED
            needs.bad += mark in BAD

    def _look(self, names: Iterable[str]) -> None:
        """Settles what can be settled of these jobs, and of those that need them."""
        left = list(names)
        while left:
            name = left.pop()
            if self.marks[name] is not Mark.WAITING or name in self._chosen:
                continue
            settled = condition(self._spec.jobs[name].when, self._needs[name])
            if settled in (None, Mark.BEGUN) and not self._survives(name):
                settled = Mark.HALTED
            if settled is Mark.BEGUN:
                heapq.heappush(self._ready, (self._spec.jobs[name].priority, self._order[name], name))
                self._chosen.add(name)
            elif settled is not None:
                self._settle(name, settled)
                left += self._needed_by[name]


def kept(spec: PipelineSpec, marks: Mapping[str, Mark]) -> dict[str, Mark]:
    """What a retry keeps of a pipeline that has ended: all that succeeded, or was not needed, before its failures.

    What reacted to a failure (`any_failed`, `all_finished`, `always`) runs again when that failure is retried.
    """
    stay: dict[str, Mark] = {}
    for name in in_order({name: job.needs for name, job in spec.jobs.items()}):
        job, mark = spec.jobs[name], marks.get(name, Mark.WAITING)
        if mark is Mark.SUCCEEDED and job.when is When.ANY_SUCCEEDED:
            holds = any(stay.get(needed) is Mark.SUCCEEDED for needed in job.needs)
        else:
            holds = all(needed in stay for needed in job.needs)
        if holds and mark in (Mark.SUCCEEDED, Mark.NOT_NEEDED):
            stay[name] = mark
    return stay
