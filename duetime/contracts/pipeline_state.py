"""Where a pipeline stands, as its workflow says it to those who read: with no worker alive, and after its end.

The workflow keeps a `Progress` in its memo, under `PROGRESS`, and it is exact: one letter for each job, in the order in
which the input names them, so that it stays small however many there are. Errors of jobs that came to no execution of
their own are beside it, under `FAULTS`: `{name: {"type", "message"}}`, the first hundred of them. A job that runs for
each item of a list has an execution of type `FanOut` under its id, whose memo has an `ItemCounts` under `ITEMS`.

How to read a job whose letter is `Mark.BEGUN`: by the execution under its id (`contracts.pipeline.job_id`), which
tells its state more exactly. Is there none yet, or only one that began before this run of the pipeline, then it is
`queued`. All other letters say the state themselves; the execution then tells times, attempts, result and error, if it
was this pipeline's (a skipped job may have one of an earlier run, which is not of interest).

While no worker has looked at the pipeline there is no memo: all jobs wait then.
"""

from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, Field

from duetime.contracts.record import Part
from duetime.contracts.states import State

#: Memo keys.
PROGRESS, FAULTS, ITEMS = "duetime-pipeline", "duetime-pipeline-faults", "duetime-items"
#: The memo key of what a `FanOut` leaves should it be terminated: an `ItemsEnding` of which only `digest` and `since`
#: say anything.
ITEMS_OF = "duetime-items-of"


class Mark(StrEnum):
    """One job of a pipeline, in one letter."""

    #: For jobs that it needs, or for room (`max_parallel`).
    WAITING = "-"
    #: Its execution begins or goes on; that tells more.
    BEGUN = ">"
    SUCCEEDED = "s"
    FAILED = "f"
    CANCELLED = "c"
    EXPIRED = "x"
    #: Its condition did not hold, and nothing that it needs had failed for that.
    NOT_NEEDED = "n"
    #: Its condition did not hold since something before it had failed.
    UPSTREAM_FAILED = "u"
    #: It would not begin any more: the pipeline was stopped, by a failure, a cancellation or its deadline.
    HALTED = "h"


STATE_OF = {
    Mark.WAITING: State.WAITING,
    Mark.BEGUN: State.QUEUED,
    Mark.SUCCEEDED: State.SUCCEEDED,
    Mark.FAILED: State.FAILED,
    Mark.CANCELLED: State.CANCELLED,
    Mark.EXPIRED: State.EXPIRED,
    Mark.NOT_NEEDED: State.SKIPPED,
    Mark.UPSTREAM_FAILED: State.SKIPPED,
    Mark.HALTED: State.SKIPPED,
}
FINAL_MARKS = frozenset(Mark) - {Mark.WAITING, Mark.BEGUN}
#: Marks that count as a failure, for the conditions of other jobs and for the pipeline.
BAD = frozenset({Mark.FAILED, Mark.CANCELLED, Mark.EXPIRED, Mark.UPSTREAM_FAILED, Mark.HALTED})


class Halt(StrEnum):
    """Why no more jobs begin, but those that react to it."""

    #: A job failed, and `on_failure` is `stop`.
    FAILURE = "failure"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    #: Cancelled, and cleaning up is not waited for either.
    FORCED = "forced"


class Progress(Part):
    """What the workflow keeps in its memo."""

    #: One `Mark` for each job, in the order of the input.
    marks: str = ""
    halt: Halt | None = None
    #: Who cancelled and why, as told.
    reason: str | None = None
    deadline_at: AwareDatetime | None = None
    #: Until when nothing begins, while that lasts.
    starts_at: AwareDatetime | None = None
    nominal_time: AwareDatetime | None = None
    schedule_id: str | None = None

    def by_name(self, names: list[str]) -> dict[str, Mark]:
        """The mark of each job; `names` is the order of the input. What no worker has looked at waits."""
        marks = self.marks.ljust(len(names), Mark.WAITING)
        return {name: Mark(letter) for name, letter in zip(names, marks, strict=False)}

    def compact(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


class ItemCounts(Part):
    """How far a job is that runs for each item: `total` is the length of its list, the rest how many items are so."""

    total: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    expired: int = 0
    #: Among how many executions (`contracts.pipeline.part_id`) the items are divided: while this one is open, their
    #: counts together are the job's.
    parts: int = 0

    @property
    def bad(self) -> int:
        """Those that ended without success."""
        return self.failed + self.cancelled + self.expired

    @property
    def done(self) -> int:
        return self.succeeded + self.bad

    def plus(self, other: "ItemCounts") -> "ItemCounts":
        """Of both together."""
        return ItemCounts(
            total=self.total + other.total,
            running=self.running + other.running,
            succeeded=self.succeeded + other.succeeded,
            failed=self.failed + other.failed,
            cancelled=self.cancelled + other.cancelled,
            expired=self.expired + other.expired,
        )

    def compact(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


class PipelineEnding(Part):
    """The result of workflow `Pipeline`, and the details of its failure: the state in which each job ended."""

    jobs: dict[str, State] = Field(default_factory=dict)

    def compact(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class ItemsEnding(Part):
    """The result of workflow `FanOut`, and the details of its failure."""

    counts: ItemCounts = ItemCounts()
    #: The results in the order of the list, null where there is none; null as a whole when they are too large together.
    results: list[Any] | None = None
    #: How large they are as compact JSON in bytes: at least the brackets of the list.
    size: int = 2
    #: One `Mark` for each item.
    marks: str = ""
    #: Of the list and what is made of it: a redrive keeps results only if these are the same again.
    digest: str = ""
    #: When its first item could begin, redrives before this one included.
    since: AwareDatetime | None = None
    #: Why the first of its items failed, when this is one part of several.
    first_error: str | None = None

    def compact(self) -> dict[str, Any]:
        return {"marks": self.marks} | self.model_dump(mode="json", exclude_defaults=True, exclude={"marks"})
