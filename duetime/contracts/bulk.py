"""Operations on many jobs: what their workflow is given, and how they stand."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from duetime.contracts.record import Part
from duetime.contracts.states import State

Action = Literal["retry", "cancel"]

#: Jobs in one operation.
MOST_JOBS = 100_000
#: Jobs in one of the sets that it keeps.
SET_JOBS = 1_000
#: Failed jobs whose error is looked at, to tell how many there are of each type; the rest is told to be unknown.
LOOKED_AT = 2_000
#: Jobs, errors and faults that are told by name.
TOLD = 20
#: Jobs a second.
RATE = (0.1, 500.0)
USUAL_RATE = 50.0
CANARY = 100
#: How long a set that was frozen for a look is kept.
KEPT = timedelta(hours=24)
#: The longest that an operation may take at its rate.
LONGEST = timedelta(days=30)

#: The ids of operations begin so; `~` keeps them apart from callers' ids.
OPERATION_ID = "duetime~bulk~"
#: The workflow types of an operation, and of one of the sets of jobs that it keeps.
OPERATION, JOB_SET = "BulkOperation", "BulkSet"
#: Memo keys: how it stands; and who asked, within what bounds, under which Idempotency-Key.
STANDING, ASKED = "duetime-operation", "duetime-operation-asked"

Rate = Annotated[float, Field(ge=RATE[0], le=RATE[1])]
Canary = Annotated[int, Field(strict=True, ge=1, le=CANARY)]


class OperationState(StrEnum):
    """How far an operation is."""

    #: It finds the jobs, and keeps which they are.
    FREEZING = "freezing"
    #: A dry run: the set is kept until it is run, or for a day.
    FROZEN = "frozen"
    #: The first jobs run, and must succeed before the others may.
    CANARY = "canary"
    RUNNING = "running"
    DONE = "done"
    #: A canary did not succeed: the others were left alone.
    HALTED = "halted"
    STOPPED = "stopped"
    #: A dry run that nobody ran in time.
    EXPIRED = "expired"
    #: It could not be done; `reason` says why.
    FAILED = "failed"


ENDED = frozenset(
    {
        OperationState.DONE,
        OperationState.HALTED,
        OperationState.STOPPED,
        OperationState.EXPIRED,
        OperationState.FAILED,
    }
)


class JobRef(Part):
    """A job as it was when the set was frozen."""

    id: str
    run_id: str
    kind: str = ""
    queue: str = ""


class Fault(Part):
    """A job that something is to be said of."""

    id: str
    reason: str
    says: str = ""


class ErrorGroup(Part):
    """Failed jobs with one type of error: how many, and one of them."""

    type: str
    count: int
    example: str
    message: str = ""


class Tally(Part):
    """What became of jobs. The parts add up to the jobs that had their turn."""

    done: int = 0
    #: By reason: jobs that had moved on meanwhile.
    skipped: dict[str, int] = Field(default_factory=dict)
    #: What the server refused.
    failed: int = 0
    #: Some of the skipped and failed ones.
    faults: list[Fault] = Field(default_factory=list)

    @property
    def total(self) -> int:
        return self.done + sum(self.skipped.values()) + self.failed

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        skipped = dict(self.skipped)
        for reason, count in other.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
        return Tally(
            done=self.done + other.done,
            skipped=skipped,
            failed=self.failed + other.failed,
            faults=[*self.faults, *other.faults][:TOLD],
        )


class Plan(Part):
    """What the workflow of an operation is given."""

    #: Tells it from whatever else somebody gives.
    protocol: Literal[1] = Field(alias="$duetime")
    action: Action
    #: For the search index.
    query: str
    #: States of open jobs that take a look at each; none when any will do.
    states: list[State] = Field(default_factory=list)
    #: A `RedriveRequest` or a `CancelRequest`, as JSON.
    how: dict[str, Any] = Field(default_factory=dict)
    dry_run: bool = False
    rate: Rate = USUAL_RATE
    canary: Canary | None = None

    def compact(self) -> dict[str, Any]:
        return {"$duetime": 1} | self.model_dump(mode="json", exclude_defaults=True, exclude={"protocol"})


class Standing(Part):
    """How an operation stands: in its memo, where it is read without a worker, and as its result."""

    state: OperationState = OperationState.FREEZING
    action: Action = "retry"
    #: As the caller said it.
    filter: dict[str, Any] = Field(default_factory=dict)
    dry_run: bool = False
    rate: float = USUAL_RATE
    canary: int | None = None
    #: Jobs in the set, so far.
    total: int = 0
    #: Sets that they are kept in.
    sets: int = 0
    sample: list[JobRef] = Field(default_factory=list)
    errors: list[ErrorGroup] = Field(default_factory=list)
    #: Jobs whose error was looked at.
    looked_at: int = 0
    tally: Tally = Tally()
    #: Canaries that did not succeed.
    lost: list[Fault] = Field(default_factory=list)
    reason: str | None = None
    #: Since when a dry run is `frozen`.
    frozen_at: AwareDatetime | None = None

    def compact(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


class Frozen(Part):
    """One set, as it was found: what it holds by number and example, and where to go on."""

    count: int = 0
    sample: list[JobRef] = Field(default_factory=list)
    errors: list[ErrorGroup] = Field(default_factory=list)
    looked_at: int = 0
    then: str = ""


def merged(one: list[ErrorGroup], other: list[ErrorGroup]) -> list[ErrorGroup]:
    """Both together, the most frequent first; beyond `TOLD` types the rarest are one."""
    found = {group.type: group for group in one}
    for group in other:
        known = found.get(group.type)
        found[group.type] = known.model_copy(update={"count": known.count + group.count}) if known else group
    ranked = sorted(found.values(), key=lambda group: (group.type == OTHER, -group.count, group.type))
    if len(ranked) <= TOLD:
        return ranked
    kept, rest = ranked[: TOLD - 1], ranked[TOLD - 1 :]
    return [*kept, ErrorGroup(type=OTHER, count=sum(g.count for g in rest), example=rest[0].example)]


#: The type that errors of many rare types are told under.
OTHER = "(other)"
