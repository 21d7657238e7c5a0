"""Commands that read: `get`, `wait`, `watch`, `list`, `count`, `kinds`."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import typer
from rich.text import Text

from duetime.cli.context import (
    As,
    JobIdArgument,
    Output,
    client_of,
    say,
    tell,
    tell_end,
    write_json,
)
from duetime.cli.exits import BY_STATE, Exit
from duetime.cli.show import console, progress_text, show_counts, show_jobs, show_kinds, state_text
from duetime.cli.text import local, safe
from duetime.client import Filters, JobEvent, SyncClient
from duetime.client.waiting import span
from duetime.contracts.states import State
from duetime.contracts.view import JobSummary

_Text = str | None
StateOption = Annotated[
    list[State] | None, typer.Option("-s", "--state", metavar="STATE", help="Any of these. Repeatable.")
]
KindOption = Annotated[_Text, typer.Option("-k", "--kind", metavar="KIND")]
QueueOption = Annotated[_Text, typer.Option("-q", "--queue", metavar="NAME")]
TagOption = Annotated[
    list[str] | None, typer.Option("-t", "--tag", metavar="TEXT", help="All of these. Repeatable.")
]
ScheduleOption = Annotated[_Text, typer.Option("--schedule", metavar="ID")]
PipelineOption = Annotated[_Text, typer.Option("--pipeline", metavar="ID")]
AfterOption = Annotated[_Text, typer.Option(metavar="TIME", help="RFC 3339.")]
BeforeOption = Annotated[_Text, typer.Option(metavar="TIME", help="RFC 3339.")]


def get(context: typer.Context, job_id: JobIdArgument, output: As = Output.TABLE) -> int:
    """Show a job with every attempt."""
    with client_of(context) as client:
        return tell(client.get(job_id), output)


def wait(
    context: typer.Context,
    job_id: JobIdArgument,
    timeout: Annotated[_Text, typer.Option(metavar="SPAN", help="Wait no longer; exit code 7.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Wait until a job is final.

    The exit code says how it ended.
    """
    with client_of(context) as client:
        return tell_end(client.wait_for(job_id, span("--timeout", timeout) if timeout else None), output)


def watch(context: typer.Context, job_id: JobIdArgument, output: As = Output.TABLE) -> int:
    """Follow a job until it is final.

    A line for each event; the exit code says how it ended. With -o json a line is an object with `id`, `event`, `job`.
    """
    with client_of(context) as client:
        event: JobEvent | None = None
        for event in client.events(job_id):
            _tell_event(event, output)
        return BY_STATE[event.job.state if event else client.get(job_id).state]


def _tell_event(event: JobEvent, output: Output) -> None:
    job = event.job
    if output is Output.JSON:
        told = {"id": event.id, "event": event.name, "job": job.model_dump(mode="json")}
        write_json(told, indent=None)
        return
    line = Text.assemble(f"{local(datetime.now(UTC))}  ", state_text(job.state))
    if job.progress is not None and not event.is_last:
        line.append(f"  {progress_text(job.progress.done, job.progress.total, job.progress.message)}")
    if job.next_attempt_at is not None:
        line.append(f"  next attempt {local(job.next_attempt_at)}")
    out = console()
    out.print(line)
    out.file.flush()


def list_jobs(
    context: typer.Context,
    state: StateOption = None,
    kind: KindOption = None,
    queue: QueueOption = None,
    tag: TagOption = None,
    schedule: ScheduleOption = None,
    pipeline: PipelineOption = None,
    created_after: AfterOption = None,
    created_before: BeforeOption = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=1, metavar="NUMBER", help="So many at most.")
    ] = 50,
    cursor: Annotated[_Text, typer.Option(metavar="TEXT", help="Go on after an earlier list.")] = None,
    output: As = Output.TABLE,
) -> int:
    """List jobs.

    Open ones first, the newest first; then the last closed. With -o json: an object with `jobs` and `next_cursor`.

    \b
    duetime list --state failed --kind report.build
    duetime list -o json | jq -r '.jobs[].id'
    """
    filters: Filters = {
        "state": [each.value for each in state] if state else None,
        "kind": kind,
        "queue": queue,
        "tag": tag or None,
        "schedule_id": schedule,
        "pipeline_id": pipeline,
        "created_after": created_after,
        "created_before": created_before,
    }
    with client_of(context) as client:
        jobs, following = _pages(client, filters, limit, cursor)
    if output is Output.JSON:
        write_json({"jobs": [job.model_dump(mode="json") for job in jobs], "next_cursor": following})
        return Exit.OK
    show_jobs(jobs, console())
    if following is not None:
        say(f"and more; --limit shows more than {limit}")
    return Exit.OK


def _pages(
    client: SyncClient, filters: Filters, limit: int, cursor: str | None
) -> tuple[list[JobSummary], str | None]:
    """Jobs from as many pages as it takes."""
    jobs: list[JobSummary] = []
    while True:
        page = client.page(limit=min(200, limit - len(jobs)), cursor=cursor, **filters)
        jobs += page.jobs
        cursor = page.next_cursor
        if cursor is None or len(jobs) >= limit:
            return jobs, cursor


def count(
    context: typer.Context,
    state: StateOption = None,
    kind: KindOption = None,
    queue: QueueOption = None,
    tag: TagOption = None,
    created_after: AfterOption = None,
    created_before: BeforeOption = None,
    by: Annotated[
        Literal["state", "error"], typer.Option(metavar="state|error", help="What they are told apart by.")
    ] = "state",
    output: As = Output.TABLE,
) -> int:
    """Count jobs by state, or failed ones by type of error."""
    filters: Filters = {
        "state": [each.value for each in state] if state else None,
        "kind": kind,
        "queue": queue,
        "tag": tag or None,
        "created_after": created_after,
        "created_before": created_before,
    }
    with client_of(context) as client:
        counts = client.count(by=by, **filters)
    if output is Output.JSON:
        write_json(counts)
        return Exit.OK
    if counts.errors is not None:
        told = [
            (safe(each.type), f"{each.count:,}  {safe(each.message)}  ({safe(each.example)})")
            for each in counts.errors
        ]
        show_counts([*told, ("total", f"{counts.total:,}")], console())
        if counts.approximate:
            say("the share of each error is an estimate")
        return Exit.OK
    rows = [(each.value, f"{number:,}") for each, number in (counts.states or {}).items() if number]
    show_counts([*rows, ("total", f"{counts.total:,}")], console())
    if counts.approximate:
        say("the share of each open state is an estimate")
    return Exit.OK


def kinds(context: typer.Context, output: As = Output.TABLE) -> int:
    """List what workers can run."""
    with client_of(context) as client:
        found = client.kinds()
    if output is Output.JSON:
        write_json({"kinds": [kind.model_dump(mode="json") for kind in found]})
    else:
        show_kinds(found, console())
    return Exit.OK
