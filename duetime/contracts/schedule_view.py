"""Schedules as they are answered."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from duetime.contracts.job import Span
from duetime.contracts.states import State
from duetime.contracts.view import Answer, Instant


class ScheduleState(StrEnum):
    """Where a schedule stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    #: Its times, or its `max_runs`, are used up; it stays readable until it is deleted.
    FINISHED = "finished"


class SchedulePauseView(Answer):
    """Since when no run starts, why, and who said so. `source` is what paused it: a call (`operator`), the schedule's
    own `paused` (`spec`), `pause_on_failure` (`failure`), or somebody through Temporal itself (`temporal`)."""

    reason: str
    by: str
    since: Instant
    until: Instant | None = None
    source: Literal["operator", "spec", "failure", "temporal"] = "operator"


class NextFire(Answer):
    """A time to come, on both clocks."""

    utc: Instant
    local: str


class ScheduleRun(Answer):
    """A run of a schedule, a job or a pipeline. `state` is final or `running`, which here is all that is open."""

    job_id: str | None = None
    pipeline_id: str | None = None
    nominal_time: Instant | None = None
    started_at: Instant
    finished_at: Instant | None = None
    state: State


class ScheduleCounters(Answer):
    """Since the schedule was made. `missed` are times that the server did not start within its grace; of these,
    `made_up` have run after all."""

    fired: int = 0
    skipped_by_overlap: int = 0
    missed: int = 0
    made_up: int = 0
    triggered: int = 0
    backfilled: int = 0


class BackfillView(Answer):
    """A backfill: under way until `finished_at` is there."""

    id: str
    begin: Instant
    end: Instant
    overlap: Literal["queue_all", "allow"]
    by: str
    reason: str = ""
    requested_at: Instant
    finished_at: Instant | None = None
    #: Times asked for, runs started, and times left alone because their run is open or has succeeded.
    total: int
    started: int = 0
    left: int = 0


class BackfillAnswer(Answer):
    """What a backfill will start, or would: `times` are the first thousand of `count`."""

    dry_run: bool
    count: int
    left: int
    times: list[Instant]
    backfill: BackfillView | None = None


class ScheduleLinks(Answer):
    """Where to read on."""

    self: str
    jobs: str
    #: For a schedule of a pipeline.
    pipelines: str | None = None
    occurrences: str
    temporal: str


class ScheduleSummary(Answer):
    """A schedule in a list. `kind` and `queue` are null for one of a pipeline; `kinds`, `queues` and `tags` are those
    of all its jobs."""

    id: str
    state: ScheduleState
    revision: int
    in_words: str
    kind: str | None
    queue: str | None
    kinds: list[str] = Field(default_factory=list)
    queues: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    note: str = ""
    created_at: Instant
    updated_at: Instant
    updated_by: str
    paused: SchedulePauseView | None = None
    next_at: Instant | None = None
    #: Why its rule cannot be read any more: its zone is gone from the database, say.
    fault: str | None = None


class ScheduleView(Answer):
    """A schedule: `spec` as it was given, and where it stands."""

    id: str
    state: ScheduleState
    #: Grows with every change; the `ETag`.
    revision: int
    spec: dict[str, Any]
    in_words: str
    created_at: Instant
    updated_at: Instant
    updated_by: str
    paused: SchedulePauseView | None = None
    next: list[NextFire] = Field(default_factory=list)
    #: The last of them first; `last_success` is the last run that succeeded.
    last_runs: list[ScheduleRun] = Field(default_factory=list)
    last_success: ScheduleRun | None = None
    #: Ids of open runs, and how many wait for those to end.
    running: list[str] = Field(default_factory=list)
    queued: int = 0
    counters: ScheduleCounters = ScheduleCounters()
    #: Times to come that are left out one by one.
    skipped: list[Instant] = Field(default_factory=list)
    backfills: list[BackfillView] = Field(default_factory=list)
    runs_left: int | None = None
    #: Until when the server fires exactly by the rule; renewed long before.
    exact_until: Instant | None = None
    warnings: list[str] = Field(default_factory=list)
    links: ScheduleLinks


class SchedulePage(Answer):
    """One page of schedules, by id; `next_cursor` goes on from here, and is null at the end."""

    schedules: list[ScheduleSummary]
    next_cursor: str | None = None


class OccurrenceState(StrEnum):
    """What became of one time of the rule."""

    FIRED = "fired"
    #: A run was open when it came.
    SKIPPED_OVERLAP = "skipped_overlap"
    #: Waits for a run to end.
    QUEUED = "queued"
    #: The service was down, and it was not made up, or not yet.
    MISSED = "missed"
    #: Left out by the rule, or by hand.
    EXCLUDED = "excluded"
    PAUSED = "paused"
    UPCOMING = "upcoming"
    #: Too long ago: nobody remembers.
    UNKNOWN = "unknown"


class Occurrence(Answer):
    """One time of the rule. What ran is a job or a pipeline, in the state `job_state`, to be read at `link`; `late_by`
    is how long after the time it started, jitter included."""

    nominal_time: Instant
    local: str
    state: OccurrenceState
    tags: list[str] = Field(default_factory=list)
    job_id: str | None = None
    pipeline_id: str | None = None
    job_state: State | None = None
    link: str | None = None
    started_at: Instant | None = None
    late_by: Span | None = None
    #: The run that was in the way.
    blocked_by: str | None = None
    reason: str | None = None


class OccurrencePage(Answer):
    """The times of a span, in order. `next_from` goes on from here; it is null at the end."""

    occurrences: list[Occurrence]
    next_from: Instant | None = None


class Triggered(Answer):
    """A run beside the rule, a job or a pipeline: started, or waiting for those that are open."""

    job_id: str | None = None
    pipeline_id: str | None = None
    state: Literal["started", "queued"]
    links: dict[str, str] = Field(default_factory=dict)
