"""Operations on many jobs, as callers ask for them and see them."""

from typing import Annotated, Any

from pydantic import Field

from duetime.contracts.bulk import Action, Canary, OperationState, Rate
from duetime.contracts.job import Contract, Span
from duetime.contracts.view import Answer, ErrorGroupView, Instant

DryRun = Annotated[
    bool, Field(strict=True, description="keep the set and tell what it holds; `:run` carries it out")
]
JobsASecond = Annotated[Rate, Field(description="jobs a second")]


class RunRequest(Contract):
    """How to carry out a set that a dry run kept; what is left out is as the dry run said."""

    rate: JobsASecond | None = None
    canary: Canary | None = Field(
        None, description="so many jobs must run again and succeed before the others may"
    )


class StopOperationRequest(Contract):
    """Why an operation is stopped."""

    reason: Annotated[str, Field(max_length=500)] | None = None


class JobRefView(Answer):
    """A job as it was when the set was frozen."""

    id: str
    run_id: str
    kind: str
    queue: str


class FaultView(Answer):
    """A job that was left alone, refused, or did not succeed as a canary: `reason` is a word, `says` for people."""

    id: str
    reason: str
    says: str


class CountsView(Answer):
    """What became of the jobs of the set. `done + skipped + failed + left` is the operation's `total`."""

    #: Redriven, or cancelled (a running handler was told).
    done: int = 0
    #: They had moved on meanwhile; `skipped_because` says how.
    skipped: int = 0
    #: The server refused; `faults` says why.
    failed: int = 0
    #: Not had their turn.
    left: int = 0


class OperationLinks(Answer):
    """Where to read on."""

    self: str
    temporal: str


class OperationView(Answer):
    """An operation on many jobs."""

    id: str
    action: Action
    state: OperationState
    filter: dict[str, Any]
    dry_run: bool = False
    by: str = ""
    rate: float
    canary: int | None = None
    created_at: Instant
    finished_at: Instant | None = None
    #: A dry run's set is kept until then.
    kept_until: Instant | None = None
    #: Jobs in the set; of those found so far while it is `freezing`.
    total: int
    counts: CountsView
    skipped_because: dict[str, int] = Field(default_factory=dict)
    errors: list[ErrorGroupView] = Field(default_factory=list)
    #: Failed jobs whose error was looked at; when there are more, `errors` tells of these alone.
    errors_of: int = 0
    sample: list[JobRefView] = Field(default_factory=list)
    faults: list[FaultView] = Field(default_factory=list)
    #: Canaries that did not succeed.
    lost: list[FaultView] = Field(default_factory=list)
    reason: str | None = None
    #: Until it has had its turn with every job, at the earliest.
    remaining: Span | None = None
    links: OperationLinks


class OperationList(Answer):
    """One page of operations: those under way first. `next_cursor` goes on from here; it is null at the end."""

    operations: list[OperationView]
    next_cursor: str | None = None
