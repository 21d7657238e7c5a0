"""Commands that look after the service: `doctor`, `queues`, `backlog`, `why`."""

import getpass
from collections.abc import Iterable
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from duetime.cli.context import As, JobIdArgument, Output, client_of, write_json
from duetime.cli.exits import Exit
from duetime.cli.show import console, state_text
from duetime.cli.suggested import as_command
from duetime.cli.text import ago, safe
from duetime.contracts.duration import format_duration
from duetime.contracts.queues import Backlog, QueueView
from duetime.doctor.findings import Severity

_Text = str | None
_By = Literal["queue", "kind", "fairness_key"]
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.OK: "green"}
_PLACES = ("scheduled", "waiting", "overdue", "limited", "queued", "paused", "running", "retrying", "open")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The queue.", show_default=False)]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="For those who find it so.", show_default=False)]
By = Annotated[_Text, typer.Option(metavar="NAME", help="Who says so; your login name if not said.")]

queues = typer.Typer(
    help="Queues: what waits, who serves it; pause, resume, rate, concurrency.", no_args_is_help=True
)


def doctor(context: typer.Context, output: As = Output.TABLE) -> int:
    """Tell what is not well, and what to do about it.

    Exit code 0: all is well; 1: warnings; 2: errors, which are also wrong arguments.
    """
    with client_of(context) as client:
        report = client.doctor()
    if output is Output.JSON:
        write_json(report)
    else:
        out = console()
        for finding in report.findings:
            word = finding.severity.value.upper() if finding.severity is not Severity.OK else "ok"
            says = Text.assemble((f"{word:<7} ", _STYLES[finding.severity]), safe(finding.check), ": ")
            out.print(says.append(safe(finding.says)))
            if finding.fix:
                out.print(Text(f"        fix: {safe(finding.fix)}", "dim"))
    return report.exit_code


def backlog(
    context: typer.Context,
    by: Annotated[
        _By, typer.Option(metavar="queue|kind|fairness_key", help="What they have in common.")
    ] = "queue",
    output: As = Output.TABLE,
) -> int:
    """Tell where all open jobs are."""
    with client_of(context) as client:
        view = client.backlog(by)
    if output is Output.JSON:
        write_json(view)
        return Exit.OK
    table = _table(by.replace("_", " ").upper(), *(place.upper() for place in _PLACES), "OLDEST")
    for group in view.groups:
        oldest = format_duration(group.oldest_age) if group.oldest_age else ""
        table.add_row(safe(group.name or "(none)"), *_numbers(group.jobs), oldest)
    table.add_row("total", *_numbers(view.total), "")
    console().print(table)
    return Exit.OK


def why(context: typer.Context, job_id: JobIdArgument, output: As = Output.TABLE) -> int:
    """Tell why a job is not running, and what to do about it."""
    with client_of(context) as client:
        view = client.why(job_id)
    if output is Output.JSON:
        write_json(view)
        return Exit.OK
    out = console()
    out.print(Text.assemble((safe(job_id), "bold"), "  ", state_text(view.state)))
    for blocked in view.blocked:
        since = f" ({ago(blocked.since)})" if blocked.since else ""
        out.print(Text(f"  {blocked.reason.value}: {safe(blocked.detail)}{since}"))
    if not view.blocked:
        out.print(Text("  nothing keeps it: it is on its way"))
    if view.next_change_at is not None:
        out.print(Text(f"  changes by itself {ago(view.next_change_at)}", "dim"))
    for suggestion in view.suggestions:
        out.print(Text(f"  try: {safe(suggestion.detail)}"))
        if call := as_command(suggestion):
            out.print(Text(f"       {safe(call)}", "dim"))
    return Exit.OK


def _who(by: str | None) -> str | None:
    """Who says so: whoever is logged in, unless told otherwise."""
    try:
        return by or getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return None


@queues.command("list")
def list_queues(context: typer.Context, output: As = Output.TABLE) -> int:
    """List all known queues."""
    with client_of(context) as client:
        found = client.queues()
    if output is Output.JSON:
        write_json(found)
        return Exit.OK
    table = _table("QUEUE", "HEALTH", "OPEN", "READY", "RUNNING", "WORKERS", "VERDICT")
    for queue in found.queues:
        ready = queue.jobs.overdue + queue.jobs.queued + queue.jobs.paused
        numbers = (f"{each:,}" for each in (queue.jobs.open, ready, queue.jobs.running, len(queue.workers)))
        table.add_row(safe(queue.name), queue.health.value, *numbers, safe(queue.verdict))
    out = console()
    out.print(table)
    out.print(Text(f"workflows: {safe(found.orchestration.verdict)}"))
    return Exit.OK


@queues.command("get")
def get_queue(context: typer.Context, name: NameArgument, output: As = Output.TABLE) -> int:
    """Show one queue."""
    with client_of(context) as client:
        return _tell(client.queue(name), output)


@queues.command("pause")
def pause_queue(
    context: typer.Context, name: NameArgument, reason: Reason, by: By = None, output: As = Output.TABLE
) -> int:
    """Hand out nothing of a queue; what runs goes on."""
    with client_of(context) as client:
        return _tell(client.pause_queue(name, reason=reason, by=_who(by)), output)


@queues.command("resume")
def resume_queue(context: typer.Context, name: NameArgument, by: By = None, output: As = Output.TABLE) -> int:
    """Hand out work of a queue again."""
    with client_of(context) as client:
        return _tell(client.resume_queue(name, by=_who(by)), output)


@queues.command("rate")
def rate_queue(
    context: typer.Context,
    name: NameArgument,
    per_second: Annotated[str, typer.Argument(metavar="NUMBER|none", help="Starts a second.")],
    reason: Reason,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Bound how fast a queue hands out work; `none` takes the bound away."""
    try:
        wanted = None if per_second.lower() == "none" else float(per_second)
    except ValueError:
        raise typer.BadParameter(f"{per_second!r} is no number, nor none", param_hint="NUMBER|none") from None
    with client_of(context) as client:
        return _tell(client.set_queue_rate(name, wanted, reason=reason, by=_who(by)), output)


@queues.command("concurrency")
def limit_queue(
    context: typer.Context,
    name: NameArgument,
    limit: Annotated[str, typer.Argument(metavar="NUMBER|none", help="Jobs at once, 1 to 1000.")],
    reason: Annotated[_Text, typer.Option(metavar="TEXT", help="For those who find it so.")] = None,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Bound how many jobs of a queue run at once; `none` takes the bound away."""
    wanted = None if limit.lower() == "none" else int(limit) if limit.isascii() and limit.isdecimal() else 0
    if wanted == 0:
        raise typer.BadParameter(f"{limit!r} is no number from 1, nor none", param_hint="NUMBER|none")
    if wanted is not None and reason is None:
        raise typer.BadParameter("say why, for those who find it so", param_hint="--reason")
    with client_of(context) as client:
        return _tell(client.set_queue_concurrency(name, wanted, reason=reason or "", by=_who(by)), output)


def _tell(queue: QueueView, output: Output) -> int:
    if output is Output.JSON:
        write_json(queue)
        return Exit.OK
    out = console()
    out.print(Text.assemble((safe(queue.name), "bold"), f"  {queue.health.value}"))
    pause, rate, limit = queue.pause, queue.rate, queue.concurrency
    rows = [
        ("verdict", queue.verdict),
        ("jobs", ", ".join(f"{getattr(queue.jobs, place):,} {place}" for place in _PLACES)),
        ("oldest", format_duration(queue.oldest_age) if queue.oldest_age else ""),
        ("paused", f"{pause.reason} (by {pause.by} {ago(pause.since)})" if pause else ""),
        ("rate", f"{rate.per_second:g} a second: {rate.reason} (by {rate.by})" if rate else ""),
        ("at once", f"{limit.limit:,}: {limit.reason} (by {limit.by} {ago(limit.since)})" if limit else ""),
        ("kinds", ", ".join(queue.kinds)),
        ("workers", ", ".join(worker.identity for worker in queue.workers)),
    ]
    for name, value in rows:
        if value:
            out.print(Text.assemble((f"  {name:<8}", "dim"), safe(value)))
    return Exit.OK


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def _numbers(jobs: Backlog) -> Iterable[str]:
    return (f"{getattr(jobs, place):,}" for place in _PLACES)
