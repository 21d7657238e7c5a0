"""Pipelines on a terminal."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from duetime.cli.show import state_text
from duetime.cli.text import ago, local, safe
from duetime.contracts.duration import format_duration
from duetime.contracts.pipeline_view import (
    ItemsView,
    PipelineJobView,
    PipelineProgress,
    PipelineSummary,
    PipelineView,
    progress_of,
)
from duetime.contracts.states import State

#: What needs no words beside the column of needs is left out.
_REASONS = {
    "room": "for room (max_parallel)",
    "start": "for a worker to begin it",
    "not_needed": "not needed",
    "upstream_failed": "something before it failed",
    "halted": "the pipeline was halted",
}
#: Changes of jobs that one line tells.
_CHANGES = 8


def show_pipeline(pipeline: PipelineView, out: Console) -> None:
    """One pipeline as a page: how it stands, each job, and where the time went."""
    out.print(Text.assemble((safe(pipeline.id), "bold"), "  ", state_text(pipeline.state)))
    facts = [
        ("created", f"{local(pipeline.created_at)} ({ago(pipeline.created_at)})"),
        ("finished", local(pipeline.finished_at)),
        ("deadline", local(pipeline.deadline_at)),
        ("halted by", pipeline.halt or ""),
        ("critical path", _path(pipeline)),
        ("web", safe(pipeline.links.temporal)),
    ]
    for name, value in facts:
        if value:
            out.print(Text.assemble((f"  {name:<14}", "dim"), value))
    if pipeline.error is not None:
        out.print(Text(f"  {safe(pipeline.error.type)}: {safe(pipeline.error.message)}", "red"))
    out.print(_jobs(pipeline.jobs, is_cut=out.is_terminal))


def _jobs(jobs: Mapping[str, PipelineJobView], *, is_cut: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, header_style="bold")
    for title in ("JOB", "STATE", "KIND", "NEEDS", "TOOK", ""):
        table.add_column(title, overflow="fold", no_wrap=not is_cut)
    for name, job in jobs.items():
        needs = ", ".join(job.needs) + ("" if job.when == "all_succeeded" else f" ({job.when})")
        table.add_row(safe(name), state_text(job.state), safe(job.kind), safe(needs), _took(job), _note(job))
    return table


def _took(job: PipelineJobView) -> str:
    if job.started_at is None or job.finished_at is None:
        return ""
    return format_duration(job.finished_at - job.started_at)


def _note(job: PipelineJobView) -> Text:
    parts = []
    if job.items is not None:
        parts.append(items_text(job.items))
    if job.reason is not None and job.reason != "needs":
        parts.append(_REASONS[job.reason])
    if job.error is not None:
        parts.append(f"{safe(job.error.type)}: {safe(job.error.message)}")
    return Text("  ".join(parts), "red" if job.error else "")


def _path(pipeline: PipelineView) -> str:
    path = pipeline.critical_path
    if not path.jobs:
        return ""
    so_far = "" if path.final else " so far"
    return f"{' → '.join(safe(step.name) for step in path.jobs)} ({format_duration(path.took)}{so_far})"


def show_pipelines(pipelines: Iterable[PipelineSummary], out: Console) -> None:
    """Pipelines as a table."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("ID", "STATE", "CREATED", "FINISHED", "JOBS"):
        table.add_column(title, overflow="fold", no_wrap=not out.is_terminal)
    for each in pipelines:
        table.add_row(
            safe(each.id),
            state_text(each.state),
            ago(each.created_at),
            ago(each.finished_at),
            counts_text(each.counts),
        )
    out.print(table)


def counts_text(counts: Mapping[State, int]) -> str:
    """`3 succeeded, 1 running`, in the order of the states' life."""
    return ", ".join(f"{counts[state]:,} {state}" for state in reversed(State) if counts.get(state))


def event_line(now: PipelineView | PipelineProgress, before: PipelineView | PipelineProgress | None) -> Text:
    """When, how the pipeline stands, and which jobs and items have moved since."""
    line = Text.assemble(
        f"{local(datetime.now(UTC))}  ", state_text(now.state), f"  {counts_text(now.counts)}"
    )
    if before is None:
        return line
    was, states = _progress(before), _progress(now)
    moved = [name for name, state in states.jobs.items() if was.jobs.get(name) is not state]
    counted = [name for name, items in states.items.items() if was.items.get(name) != items]
    told = list(dict.fromkeys([*moved, *counted]))
    for name in told[:_CHANGES]:
        line.append(f"  {safe(name)} ").append(state_text(states.jobs[name]))
        if name in states.items:
            line.append(f" {items_text(states.items[name])}")
    if len(told) > _CHANGES:
        line.append(f"  and {len(told) - _CHANGES:,} more")
    return line


def items_text(items: ItemsView) -> str:
    """`37 of 120`."""
    return f"{items.done:,} of {items.total:,}"


def _progress(pipeline: PipelineView | PipelineProgress) -> PipelineProgress:
    return progress_of(pipeline) if isinstance(pipeline, PipelineView) else pipeline
