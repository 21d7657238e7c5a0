"""`duetime schedules …`: commands that operate a schedule, and what became of its times."""

from itertools import islice
from typing import Annotated, Literal

import typer

from duetime.cli.context import As, Output, client_of, say, write_json
from duetime.cli.exits import Exit
from duetime.cli.show import console
from duetime.cli.show_schedules import show_backfill, show_occurrences, show_schedule
from duetime.contracts.schedule import Overlap
from duetime.contracts.schedule_view import ScheduleView

_Text = str | None
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The schedule's id.", show_default=False)]
From = Annotated[_Text, typer.Option("--from", metavar="TIME", help="RFC 3339.")]
Reason = Annotated[_Text, typer.Option(metavar="TEXT", help="Kept with it.")]
By = Annotated[_Text, typer.Option(metavar="NAME", help="Who does it, where the key does not say.")]
To = Annotated[_Text, typer.Option("--to", metavar="TIME", help="RFC 3339.")]


def pause(
    context: typer.Context,
    schedule_id: IdArgument,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; everybody can see it.")],
    until: Annotated[_Text, typer.Option(metavar="TIME", help="RFC 3339; for good without.")] = None,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Start no more runs by the rule."""
    with client_of(context) as client:
        return tell_schedule(client.schedules.pause(schedule_id, reason, until=until, by=by), output)


def resume(
    context: typer.Context,
    schedule_id: IdArgument,
    run_missed: Annotated[
        bool, typer.Option("--run-missed", help="Make up the times that the pause kept back.")
    ] = False,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Start runs by the rule again."""
    missed: Literal["run"] | None = "run" if run_missed else None
    with client_of(context) as client:
        return tell_schedule(client.schedules.resume(schedule_id, missed=missed, by=by), output)


def trigger(
    context: typer.Context,
    schedule_id: IdArgument,
    overlap: Annotated[
        Overlap | None,
        typer.Option(metavar="POLICY", help="When a run is open; the schedule's own by default."),
    ] = None,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Start a run now, beside the rule."""
    with client_of(context) as client:
        done = client.schedules.trigger(schedule_id, overlap=overlap, by=by)
    if output is Output.JSON:
        write_json(done)
    else:
        console().print(f"{done.state}: {done.job_id or done.pipeline_id}")
    return Exit.OK


def skip(
    context: typer.Context,
    schedule_id: IdArgument,
    nominal_time: Annotated[str, typer.Argument(metavar="TIME", help="The nominal time, RFC 3339.")],
    reason: Reason = None,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Leave out exactly one time to come."""
    with client_of(context) as client:
        return tell_schedule(client.schedules.skip(schedule_id, nominal_time, reason=reason, by=by), output)


def backfill(
    context: typer.Context,
    schedule_id: IdArgument,
    start: Annotated[str, typer.Option("--from", metavar="TIME", help="RFC 3339; itself included.")],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="RFC 3339; itself included.")],
    overlap: Annotated[
        Literal["queue_all", "allow"] | None,
        typer.Option(metavar="queue_all|allow", help="One after the other, or at once."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, and do nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also times whose run has succeeded.")] = False,
    by: By = None,
    output: As = Output.TABLE,
) -> int:
    """Run times of the past that have no run which succeeded."""
    with client_of(context) as client:
        done = client.schedules.backfill(
            schedule_id, start, end, overlap=overlap, dry_run=dry_run, force=force, by=by
        )
    if output is Output.JSON:
        write_json(done)
    else:
        show_backfill(done, console())
    return Exit.OK


def occurrences(
    context: typer.Context,
    schedule_id: IdArgument,
    start: From = None,
    end: To = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, metavar="NUMBER")] = 1000,
    output: As = Output.TABLE,
) -> int:
    """Show every time of the rule in a span, and what became of it.

    From a day ago to a day ahead, unless told otherwise.
    """
    with client_of(context) as client:
        rows = list(islice(client.schedules.occurrences(schedule_id, start=start, end=end), limit + 1))
    if output is Output.JSON:
        write_json({"occurrences": [row.model_dump(mode="json") for row in rows[:limit]]})
    else:
        show_occurrences(rows[:limit], console())
    if len(rows) > limit:
        say(f"and more; --limit shows more than {limit}")
    return Exit.OK


def tell_schedule(schedule: ScheduleView, output: Output) -> int:
    if output is Output.JSON:
        write_json(schedule)
    else:
        show_schedule(schedule, console())
    return Exit.OK
