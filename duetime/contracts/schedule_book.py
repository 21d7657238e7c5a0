"""What one schedule's entity remembers: its state between runs of the workflow, and in its memo for those who read."""

from typing import Any, Literal

from pydantic import AwareDatetime, Field

from duetime.contracts.record import Part
from duetime.contracts.schedule import ScheduleSpec

#: The workflow type of a schedule's entity, and the keys of its memo.
SCHEDULE = "Schedule"
SPEC, BOOK = "duetime-schedule-spec", "duetime-schedule-book"
#: The memo key of a scheduled job: which schedule, revision and backfill made it.
MADE_BY = "duetime-schedule"

PauseSource = Literal["operator", "spec", "failure", "temporal"]

#: What is kept of the past; the oldest go first.
KEPT_REVISIONS = 50
KEPT_RULE_BYTES = 64 * 1024
KEPT_PAUSES = 50
KEPT_SKIPS = 100
KEPT_BACKFILLS = 10


class Revision(Part):
    """A rule, and the instant from which it was in force."""

    number: int
    since: AwareDatetime
    by: str = ""
    rule: dict[str, Any]


class PauseSpan(Part):
    """A span in which nothing started by the rule; `end` is `None` while it lasts, `until` is when it is to end."""

    since: AwareDatetime
    end: AwareDatetime | None = None
    until: AwareDatetime | None = None
    reason: str = ""
    by: str = ""
    source: PauseSource = "operator"


class SkippedTime(Part):
    """One time of the rule that somebody left out."""

    at: AwareDatetime
    by: str = ""
    reason: str = ""


class Backfill(Part):
    """Runs to be made up for times from `begin` to `end`; those up to `cursor` are dealt with."""

    id: str
    begin: AwareDatetime
    end: AwareDatetime
    overlap: Literal["queue_all", "allow"]
    force: bool = False
    by: str = ""
    reason: str = ""
    requested_at: AwareDatetime
    finished_at: AwareDatetime | None = None
    total: int = 0
    started: int = 0
    left: int = 0
    cursor: AwareDatetime | None = None


class Counted(Part):
    """What the entity itself started."""

    triggered: int = 0
    made_up: int = 0
    #: Of these, times that the server counts as skipped.
    made_up_of_skipped: int = 0
    backfilled: int = 0


class Book(Part):
    """One schedule. `spec` is what was put, as it was written; `job` is its job with the kind's defaults, compact,
    or `pipeline` its pipeline with those of its kinds."""

    id: str
    spec: dict[str, Any]
    job: dict[str, Any] = Field(default_factory=dict)
    pipeline: dict[str, Any] | None = None
    in_words: str = ""
    revision: int = 1
    created_at: AwareDatetime
    updated_at: AwareDatetime
    updated_by: str = ""
    revisions: list[Revision] = Field(default_factory=list)
    pauses: list[PauseSpan] = Field(default_factory=list)
    skips: list[SkippedTime] = Field(default_factory=list)
    backfills: list[Backfill] = Field(default_factory=list)
    counted: Counted = Counted()
    #: How often the server's schedule was written, and whether it was paused then.
    applied: int = 0
    applied_paused: bool = False
    #: Seconds that the server may start a run late by itself: its catch-up window.
    server_window: float = 10.0
    #: Runs that counted against `max_runs` before, and what was left when the server's schedule was written.
    runs_used: int = 0
    runs_left: int | None = None
    #: Times up to here are either run or known not to be.
    judged_until: AwareDatetime
    #: The server's own count of times that nobody may have started when it was looked at last.
    missed_seen: int = 0
    #: That count when it was seen to have grown, and when that was: it covers times that are not judged yet.
    missed_noticed: int = 0
    noticed_at: AwareDatetime | None = None
    #: When to look at the server again, sooner than usual.
    look_at: AwareDatetime | None = None
    #: When the server's schedule was written right after a time of the rule, which it starts no more then.
    edits: list[AwareDatetime] = Field(default_factory=list)
    #: The last run beside the rule.
    triggered_at: AwareDatetime | None = None
    #: The server's schedule may not be what is written here.
    dirty: bool = False
    renew_at: AwareDatetime | None = None
    exact_until: AwareDatetime | None = None
    zones_version: str = ""
    deleted: bool = False

    @property
    def parsed(self) -> ScheduleSpec:
        return ScheduleSpec.model_validate(self.spec)

    @property
    def pause(self) -> PauseSpan | None:
        """The pause that lasts."""
        return self.pauses[-1] if self.pauses and self.pauses[-1].end is None else None

    def compact(self) -> dict[str, Any]:
        """As JSON without defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def memo(self) -> dict[str, Any]:
        """The book as the two values of its memo: what seldom changes, and the rest."""
        told = {"spec": self.spec, "job": self.job}
        told |= {"pipeline": self.pipeline} if self.pipeline is not None else {}
        return {SPEC: told, BOOK: {name: value for name, value in self.compact().items() if name not in told}}


class Started(Part):
    """A run that the server started, by its id and when that was."""

    id: str
    at: AwareDatetime


class Server(Part):
    """How the server's own schedule stands."""

    exists: bool = False
    paused: bool = False
    notes: str = ""
    #: Of `max_runs`, when it is limited.
    remaining: int | None = None
    missed: int = 0
    fired: int = 0
    skipped: int = 0
    queued: int = 0
    running: list[str] = Field(default_factory=list)
    #: The last runs that it started, which the search index may not know yet. For whoever looks, and not kept.
    recent: list[Started] = Field(default_factory=list, exclude=True)
    next: list[AwareDatetime] = Field(default_factory=list)
    applied: int = 0
    #: The edition of the time zone database that whoever looked has.
    zones_version: str = ""


class Put(Part):
    """A schedule as it is to be. `expect` is the revision that it must have, 0 that it must not be there."""

    id: str
    spec: dict[str, Any]
    job: dict[str, Any] = Field(default_factory=dict)
    pipeline: dict[str, Any] | None = None
    in_words: str = ""
    by: str = ""
    expect: int | None = None
