"""Many jobs from the command line: `retry` and `cancel` with filters, and `operations`."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duetime.cli.context import As, Output, client_of, say, write_json
from duetime.cli.exits import Exit
from duetime.cli.show import console
from duetime.cli.text import ago, safe
from duetime.client import Filters, SyncClient
from duetime.client.waiting import span
from duetime.contracts.bulk import OperationState
from duetime.contracts.operations import OperationView
from duetime.contracts.states import State
from duetime.errors import BadSetting

_Text = str | None
#: How an operation that was waited for ended.
_CODES = {
    OperationState.DONE: Exit.OK,
    OperationState.FROZEN: Exit.OK,
    OperationState.STOPPED: Exit.JOB_CANCELLED,
    OperationState.EXPIRED: Exit.JOB_EXPIRED,
}

OperationArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The operation's id.", show_default=False)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Keep which jobs these are, and tell.")]
Rate = Annotated[float | None, typer.Option(metavar="NUMBER", help="Jobs a second; 50 if not said.")]
Canary = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="So many must succeed before the others may.")
]
Wait = Annotated[bool, typer.Option("-w", "--wait", help="Until it is over; the exit code says how.")]
WaitTimeout = Annotated[_Text, typer.Option(metavar="SPAN", help="Wait no longer; exit code 7.")]
Every = Annotated[bool, typer.Option("--all", help="Every job that can be, whatever it is.")]


def filters(
    state: list[State] | None,
    kind: str | None,
    queue: str | None,
    tag: list[str] | None,
    schedule: str | None,
    pipeline: str | None,
    created_after: str | None,
    created_before: str | None,
) -> Filters:
    """Those that were given."""
    return {
        "state": [each.value for each in state] if state else None,
        "kind": kind,
        "queue": queue,
        "tag": tag or None,
        "schedule_id": schedule,
        "pipeline_id": pipeline,
        "created_after": created_after,
        "created_before": created_before,
    }


def check_one_or_many(job_id: str | None, which: Filters, only_for_many: bool) -> bool:
    """Whether many are meant; `BadSetting` for both, and for neither."""
    many = any(value is not None for value in which.values())
    if job_id is not None and (many or only_for_many):
        raise BadSetting("ID: give an id, or filters for many jobs, not both")
    if job_id is None and not many:
        raise BadSetting("ID: give an id, or say which jobs: --kind, --queue, --state …, or --all")
    return job_id is None


def follow(
    client: SyncClient,
    operation: OperationView,
    output: Output,
    wait: bool,
    wait_timeout: str | None,
    *,
    until_frozen: bool = False,
) -> int:
    """Tells the operation, once it is over if that is waited for; a dry run, once it is frozen."""
    if wait or wait_timeout is not None or until_frozen:
        say(f"waiting for {operation.id}")
        longest = span("--wait-timeout", wait_timeout) if wait_timeout else None
        operation = client.wait_for_operation(operation.id, longest, until_frozen=until_frozen)
        tell_operation(operation, output)
        failed = operation.counts.failed > 0
        return Exit.JOB_FAILED if failed else _CODES.get(operation.state, Exit.JOB_FAILED)
    return tell_operation(operation, output)


def tell_operation(operation: OperationView, output: Output) -> int:
    if output is Output.JSON:
        write_json(operation)
    else:
        show_operation(operation, console())
    return Exit.OK


def show_operation(operation: OperationView, out: Console) -> None:
    """One operation as a page."""
    counts = operation.counts
    out.print(Text.assemble((safe(operation.id), "bold"), f"  {operation.state.value}"))
    which = ", ".join(f"{name}={_said(value)}" for name, value in operation.filter.items())
    skipped = ", ".join(f"{number:,} {safe(reason)}" for reason, number in operation.skipped_because.items())
    rows = [
        (operation.action, f"{operation.total:,} jobs with {safe(which)}"),
        ("done", f"{counts.done:,}"),
        ("skipped", f"{counts.skipped:,} ({skipped})" if counts.skipped else ""),
        ("failed", f"{counts.failed:,}" if counts.failed else ""),
        ("left", f"{counts.left:,}" if counts.left else ""),
        ("canary", str(operation.canary or "")),
        ("why", safe(operation.reason or "")),
        ("kept", ago(operation.kept_until)),
    ]
    for name, value in rows:
        if value:
            out.print(Text.assemble((f"  {name:<10}", "dim"), value))
    for group in operation.errors:
        out.print(
            Text(f"  {group.count:>8,}  {safe(group.type)}: {safe(group.message)}  ({safe(group.example)})")
        )
    if operation.state is OperationState.FROZEN:
        for job in operation.sample:
            out.print(Text.assemble("  ", safe(job.id), "  ", (safe(job.kind), "dim")))
        out.print(Text(f"  carry it out: duetime operations run {safe(operation.id)}", "bold"))
    for fault in [*operation.lost, *operation.faults]:
        out.print(Text(f"  {safe(fault.id)}: {safe(fault.reason)} {safe(fault.says)}", "red"))


def _said(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


app = typer.Typer(help="Operations on many jobs.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_operations(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, metavar="NUMBER")] = 20,
    output: As = Output.TABLE,
) -> int:
    """List operations: those under way first."""
    found: list[OperationView] = []
    with client_of(context) as client:
        for operation in client.operations(page_size=min(limit, 100)):
            found.append(operation)
            if len(found) == limit:
                break
    if output is Output.JSON:
        write_json({"operations": [each.model_dump(mode="json") for each in found]})
        return Exit.OK
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("ID", "ACTION", "STATE", "JOBS", "DONE", "CREATED"):
        table.add_column(title, overflow="fold")
    for each in found:
        numbers = (f"{each.total:,}", f"{each.counts.done:,}")
        table.add_row(safe(each.id), each.action, each.state.value, *numbers, ago(each.created_at))
    console().print(table)
    return Exit.OK


@app.command("get")
def get_operation(context: typer.Context, operation_id: OperationArgument, output: As = Output.TABLE) -> int:
    """Show how an operation stands."""
    with client_of(context) as client:
        return tell_operation(client.operation(operation_id), output)


@app.command("run")
def run_operation(
    context: typer.Context,
    operation_id: OperationArgument,
    rate: Rate = None,
    canary: Canary = None,
    wait: Wait = False,
    wait_timeout: WaitTimeout = None,
    output: As = Output.TABLE,
) -> int:
    """Carry out what a dry run kept."""
    with client_of(context) as client:
        operation = client.run_operation(operation_id, rate=rate, canary=canary)
        return follow(client, operation, output, wait, wait_timeout)


@app.command("stop")
def stop_operation(
    context: typer.Context,
    operation_id: OperationArgument,
    reason: Annotated[_Text, typer.Option(metavar="TEXT", help="Kept with the operation.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Leave alone the jobs that have not had their turn."""
    with client_of(context) as client:
        return tell_operation(client.stop_operation(operation_id, reason=reason), output)


@app.command("wait")
def wait_for_operation(
    context: typer.Context,
    operation_id: OperationArgument,
    timeout: Annotated[_Text, typer.Option(metavar="SPAN", help="Wait no longer; exit code 7.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Wait until an operation is over.

    The exit code says how it ended.
    """
    with client_of(context) as client:
        return follow(client, client.operation(operation_id), output, True, timeout)


def states_of(state: list[State] | None, failed: bool, every: bool, usual: list[State]) -> list[State] | None:
    """The states that were meant; `--all` names those that can be meant, so that no filter is needed."""
    chosen = [*(state or []), *([State.FAILED] if failed else [])]
    return chosen or (usual if every else None)
