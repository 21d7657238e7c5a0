"""Jobs on a terminal: lists as tables that fit, one job as a page."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from duetime.cli.exits import ReaderGone
from duetime.cli.text import ago, as_json, local, safe
from duetime.contracts.duration import format_duration
from duetime.contracts.kinds import KindView
from duetime.contracts.states import State
from duetime.contracts.view import AttemptView, ErrorView, JobSummary, JobView

Job = JobView | JobSummary

_STYLES = {
    State.RUNNING: "cyan",
    State.RETRYING: "yellow",
    State.SUCCEEDED: "green",
    State.FAILED: "red",
    State.EXPIRED: "red",
    State.CANCELLED: "dim",
    State.SKIPPED: "dim",
    State.SCHEDULED: "blue",
}
#: For pipes and files, where nothing is cut.
_ENDLESS = 100_000


class _Console(Console):
    """rich's own would end the process when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        raise ReaderGone


def console(stream: IO[str] | None = None) -> Console:
    """Colour on a terminal alone, and never with `NO_COLOR` (https://no-color.org); nothing is cut in a pipe."""
    out = stream or sys.stdout
    width = None if out.isatty() else _ENDLESS
    return _Console(
        file=out, width=width, highlight=False, markup=False, emoji=False, soft_wrap=width is not None
    )


@dataclass(frozen=True)
class Column:
    """A column of the list, with the room it takes at least."""

    title: str
    cell: Callable[[Job], Text]
    room: int


def state_text(state: State) -> Text:
    return Text(state.value, _STYLES.get(state, ""))


def _plain(text: str) -> Text:
    return Text(safe(text))


#: The most wanted first: what does not fit is left out from the end.
_COLUMNS = (
    Column("ID", lambda job: _plain(job.id), 27),
    Column("STATE", lambda job: state_text(job.state), 10),
    Column("KIND", lambda job: _plain(job.kind), 14),
    Column("DUE", lambda job: _plain(ago(job.due_at)), 12),
    Column("QUEUE", lambda job: _plain(job.queue), 10),
    Column("FINISHED", lambda job: _plain(ago(job.finished_at)), 12),
    Column("TAGS", lambda job: _plain(", ".join(job.tags)), 12),
)
_GAP = 2


def columns_for(width: int) -> list[Column]:
    """The columns that fit; the id and the state always do."""
    chosen: list[Column] = []
    for column in _COLUMNS:
        taken = sum(each.room + _GAP for each in chosen) + column.room
        if len(chosen) >= 2 and taken > width:
            break
        chosen.append(column)
    return chosen


def show_jobs(jobs: Iterable[Job], out: Console) -> None:
    """Jobs as a table, one a line where the terminal is wide enough."""
    columns = columns_for(out.width)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.title, overflow="fold", no_wrap=not out.is_terminal)
    for job in jobs:
        table.add_row(*(column.cell(job) for column in columns))
    out.print(table)


def show_kinds(kinds: Iterable[KindView], out: Console) -> None:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for title in ("KIND", "QUEUES", "DESCRIPTION"):
        table.add_column(title, overflow="fold", no_wrap=not out.is_terminal)
    for kind in kinds:
        first_line = kind.description.partition("\n")[0]
        queues = ", ".join(on.queue for on in kind.queues)
        table.add_row(_plain(kind.kind), _plain(queues), _plain(first_line))
    out.print(table)


def show_counts(counts: Iterable[tuple[str, str]], out: Console) -> None:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=False)
    for name, count in counts:
        table.add_row(name, Text(count, justify="right"))
    out.print(table)


def show_job(job: JobView, out: Console) -> None:
    """One job as a page: what it is, how it stands, every attempt, and what came of it."""
    out.print(Text.assemble((safe(job.id), "bold"), "  ", state_text(job.state)))
    for name, value in _facts(job):
        if value:
            out.print(Text.assemble((f"  {name:<14}", "dim"), value))
    for attempt in job.attempts:
        out.print(Text(f"  {_attempt(attempt)}", "red" if attempt.error else ""))
    if job.error is not None:
        out.print(Text(f"  {_error(job.error)}", "red"))
        if job.error.stack:
            out.print(Text(_indented(job.error.stack), "dim"))
    if job.state is State.SUCCEEDED:
        out.print(
            Text.assemble(("  result\n", "dim"), _indented(as_json(job.result, indent=2, stream=out.file)))
        )


def _facts(job: JobView) -> list[tuple[str, str]]:
    lease = job.lease
    progress = job.progress
    return [
        ("kind", safe(job.kind)),
        ("queue", safe(job.queue)),
        ("tags", safe(", ".join(job.tags))),
        ("created", f"{local(job.created_at)} ({ago(job.created_at)})"),
        ("due", f"{local(job.due_at)} ({ago(job.due_at)})"),
        ("started", local(job.started_at)),
        ("finished", local(job.finished_at)),
        ("late by", format_duration(job.late_by) if job.late_by else ""),
        ("attempt", f"{job.attempt} of {job.max_attempts}"),
        (
            "next attempt",
            f"{local(job.next_attempt_at)} ({ago(job.next_attempt_at)})" if job.next_attempt_at else "",
        ),
        ("lease", f"{safe(lease.worker)} until {local(lease.expires_at)}" if lease else ""),
        ("progress", progress_text(progress.done, progress.total, progress.message) if progress else ""),
        ("payload", as_json(job.payload) if job.payload else ""),
        ("checkpoint", as_json(job.checkpoint) if job.checkpoint is not None else ""),
        ("web", safe(job.links.temporal)),
    ]


def progress_text(done: float, total: float | None, message: str | None) -> str:
    """`40 of 100 (40 %) rows written`."""
    share = f" of {total:g} ({done / total:.0%})" if total else ""
    return f"{done:g}{share} {safe(message or '')}".rstrip()


def _attempt(attempt: AttemptView) -> str:
    ran = ""
    if attempt.started_at and attempt.finished_at:
        ran = f" after {format_duration(attempt.finished_at - attempt.started_at)}"
    why = f": {_error(attempt.error)}" if attempt.error else ""
    return f"attempt {attempt.number}  {attempt.outcome.value}{ran}{why}"


def _error(error: ErrorView) -> str:
    return f"{safe(error.type)}: {safe(error.message)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in safe(text, lines=True).rstrip().split("\n"))
