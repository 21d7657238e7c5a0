"""A pipeline as it is answered: what `GET /v1/pipelines/{id}` gives."""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from duetime.contracts.job import Span
from duetime.contracts.states import State
from duetime.contracts.view import Answer, ErrorView, Instant

Reason = Literal["needs", "room", "time", "start", "not_needed", "upstream_failed", "halted"]


class ItemsView(Answer):
    """How far a job is that runs once for each item of a list: of `total` so many run now, and so many are done, of
    which some `failed` or ended otherwise than by succeeding."""

    total: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0


class PipelineJobView(Answer):
    """One job of a pipeline; null fields are not known (yet).

    Once it has begun it can be read as a job under its `id`; one that runs for each item of a list has a job for each
    under `<id>~0`, `<id>~1` and so on.
    """

    id: str
    kind: str
    queue: str
    state: State
    needs: list[str] = Field(default_factory=list)
    when: str = "all_succeeded"
    items: ItemsView | None = None
    #: Why it waits: `needs` (other jobs), `room` (`max_parallel`), `time` (the pipeline is held back), or `start` (no
    #: worker has looked at the pipeline yet); why it was skipped: `not_needed` (its condition did not hold),
    #: `upstream_failed`, or `halted` (the pipeline was).
    reason: Reason | None = None
    #: Those that it needs and that have not ended.
    waits_for: list[str] = Field(default_factory=list)
    started_at: Instant | None = None
    finished_at: Instant | None = None
    attempt: int | None = None
    #: Without its stack.
    error: ErrorView | None = None


class StepView(Answer):
    """A job of the critical path: how long it waited once its needs were met, and how long it ran."""

    name: str
    waited: Span
    ran: Span


class CriticalPathView(Answer):
    """The chain of jobs that decided how long the pipeline took: its steps add up to `took`.

    While the pipeline is open it is the path so far, and `final` is false.
    """

    jobs: list[StepView] = Field(default_factory=list)
    took: Span = timedelta(0)
    final: bool = False


class PipelineLinks(Answer):
    """Where to read on."""

    self: str
    graph: str
    temporal: str


class PipelineSummary(Answer):
    """A pipeline in a list. `counts` tells how many of its jobs are in each state."""

    id: str
    run_id: str
    state: State
    created_at: Instant
    finished_at: Instant | None = None
    counts: dict[State, int] = Field(default_factory=dict)
    error: ErrorView | None = None
    links: PipelineLinks


class PipelineProgress(PipelineSummary):
    """A pipeline in an event: with the state of each job, and how far those are that run for each item of a list."""

    jobs: dict[str, State]
    items: dict[str, ItemsView] = Field(default_factory=dict)


class PipelineView(PipelineSummary):
    """A pipeline with the state of each of its jobs."""

    #: In an order in which each comes after those that it needs.
    jobs: dict[str, PipelineJobView]
    max_parallel: int
    on_failure: str
    #: Why nothing begins any more but what reacts to that: `failure`, `deadline`, `cancelled` or `forced`.
    halt: str | None = None
    #: Until when a stable jitter of its schedule holds it back.
    starts_at: Instant | None = None
    deadline_at: Instant | None = None
    critical_path: CriticalPathView
    schedule_id: str | None = None
    nominal_time: Instant | None = None
    warnings: list[str] = Field(default_factory=list)


class PipelinePage(Answer):
    """One page of a list. `next_cursor` goes on from here; it is null at the end."""

    pipelines: list[PipelineSummary]
    next_cursor: str | None = None


def summary_of(pipeline: PipelineView) -> PipelineSummary:
    """The summary of a pipeline that was read whole."""
    fields = {name: getattr(pipeline, name) for name in PipelineSummary.model_fields}
    return PipelineSummary.model_construct(**fields)


def progress_of(pipeline: PipelineView) -> PipelineProgress:
    """The pipeline with no more of each job than its state, and the counts of its items."""
    fields = {name: getattr(pipeline, name) for name in PipelineSummary.model_fields}
    states = {name: job.state for name, job in pipeline.jobs.items()}
    items = {name: job.items for name, job in pipeline.jobs.items() if job.items is not None}
    return PipelineProgress.model_construct(**fields, jobs=states, items=items)
