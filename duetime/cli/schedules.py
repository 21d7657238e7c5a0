"""`duetime schedules …`: keep schedules, look ahead, operate them."""

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from duetime.cli.context import As, Output, client_of, say, unreadable, write_json
from duetime.cli.exits import Exit
from duetime.cli.operate_schedules import (
    From,
    IdArgument,
    backfill,
    occurrences,
    pause,
    resume,
    skip,
    tell_schedule,
    trigger,
)
from duetime.cli.show import console
from duetime.cli.show_schedules import (
    show_applied,
    show_forecast,
    show_preview,
    show_schedules,
)
from duetime.client import ScheduleFilters
from duetime.errors import BadSetting

app = typer.Typer(
    name="schedules",
    help="Recurring rules: keep them, look ahead, operate them.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_Text = str | None
FileArgument = Annotated[str, typer.Argument(metavar="FILE|-", help="JSON, or - for standard input.")]


@app.command("list")
def list_schedules(
    context: typer.Context,
    state: Annotated[
        Literal["active", "paused", "finished"] | None, typer.Option("-s", "--state", metavar="STATE")
    ] = None,
    kind: Annotated[_Text, typer.Option("-k", "--kind", metavar="KIND")] = None,
    queue: Annotated[_Text, typer.Option("-q", "--queue", metavar="NAME")] = None,
    tag: Annotated[_Text, typer.Option("-t", "--tag", metavar="TEXT")] = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=1, metavar="NUMBER", help="So many at most.")
    ] = 200,
    output: As = Output.TABLE,
) -> int:
    """List schedules, by id."""
    filters: ScheduleFilters = {"state": state, "kind": kind, "queue": queue, "tag": tag}
    with client_of(context) as client:
        found = list(islice(client.schedules.list(page_size=min(200, limit), **filters), limit + 1))
    if output is Output.JSON:
        write_json({"schedules": [each.model_dump(mode="json") for each in found[:limit]]})
    else:
        show_schedules(found[:limit], console())
    if len(found) > limit:
        say(f"and more; --limit shows more than {limit}")
    return Exit.OK


@app.command()
def get(context: typer.Context, schedule_id: IdArgument, output: As = Output.TABLE) -> int:
    """Show a schedule: its rule, what comes next, its last runs."""
    with client_of(context) as client:
        return tell_schedule(client.schedules.get(schedule_id), output)


@app.command()
def put(
    context: typer.Context,
    schedule_id: IdArgument,
    file: FileArgument = "-",
    new: Annotated[bool, typer.Option("--new", help="Only when there is none of that id.")] = False,
    output: As = Output.TABLE,
) -> int:
    """Create or replace a schedule.

    \b
    echo '{"cron": "H 2 * * *", "job": {"kind": "report.build"}}' | duetime schedules put nightly -
    """
    spec = _read(file)
    if not isinstance(spec, dict):
        raise BadSetting(f"{file}: must be a JSON object, a schedule")
    with client_of(context) as client:
        schedule = client.schedules.put(schedule_id, spec, new=new)
    for warning in schedule.warnings:
        say(f"warning: {warning}")
    return tell_schedule(schedule, output)


@app.command()
def delete(context: typer.Context, schedule_id: IdArgument) -> int:
    """Delete a schedule. Runs that are open go on."""
    with client_of(context) as client:
        client.schedules.delete(schedule_id)
    return Exit.OK


@app.command()
def preview(
    context: typer.Context,
    cron: Annotated[list[str] | None, typer.Argument(metavar="LINE", help="Cron lines: their union.")] = None,
    every: Annotated[_Text, typer.Option(metavar="SPAN", help="Instead of lines: 90m, 1d.")] = None,
    offset: Annotated[_Text, typer.Option(metavar="SPAN", help="How far --every is moved.")] = None,
    timezone: Annotated[_Text, typer.Option("-z", "--timezone", metavar="ZONE", help="IANA name.")] = None,
    gap: Annotated[
        Literal["after", "skip"] | None, typer.Option(metavar="after|skip", help="A time that is skipped.")
    ] = None,
    overlap: Annotated[
        Literal["first", "last", "both"] | None,
        typer.Option(metavar="first|last|both", help="A time that comes twice."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="DATE|LINE", help="Left out. Repeatable.")
    ] = None,
    id: Annotated[_Text, typer.Option(metavar="ID", help="The schedule's, which H is chosen by.")] = None,
    start: From = None,
    n: Annotated[int, typer.Option("-n", min=1, max=1000, metavar="NUMBER", help="How many times.")] = 10,
    output: As = Output.TABLE,
) -> int:
    """Say what a rule does, and when. Nothing is kept.

    \b
    duetime schedules preview '30 1 * * *' -z America/New_York --from 2027-11-06T00:00:00Z
    duetime schedules preview 'H 2 * * MON-FRI' --id nightly --exclude 2026-12-25
    """
    left_out = [{"cron": each} if " " in each.strip() else each for each in exclude or []]
    dst = {name: value for name, value in (("gap", gap), ("overlap", overlap)) if value is not None}
    rule = {
        "cron": (cron[0] if len(cron) == 1 else cron) if cron else None,
        "every": every,
        "offset": offset,
        "timezone": timezone,
        "dst": dst or None,
        "exclude": left_out or None,
    }
    with client_of(context) as client:
        seen = client.schedules.preview(rule, schedule_id=id, start=start, n=n)
    if output is Output.JSON:
        write_json(seen)
    else:
        show_preview(seen, console())
    for warning in seen.warnings:
        say(f"warning: {warning}")
    return Exit.OK


@app.command()
def apply(
    context: typer.Context,
    file: FileArgument = "-",
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete schedules that are not in the file.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what differs, and do nothing.")] = False,
    output: As = Output.TABLE,
) -> int:
    """Make the schedules what a file says.

    FILE is a JSON list of schedules with their ids, or {"schedules": [...]}. Exit code 1 when some were refused.

    \b
    duetime schedules apply schedules.json --prune --dry-run
    """
    wanted = _read(file)
    if isinstance(wanted, dict) and wanted.keys() == {"schedules"}:
        wanted = wanted["schedules"]
    if not isinstance(wanted, list) or not all(isinstance(each, dict) for each in wanted):
        raise BadSetting(f'{file}: must be a JSON list of schedules, or {{"schedules": [...]}}')
    with client_of(context) as client:
        done = client.schedules.apply(wanted, prune=prune, dry_run=dry_run)
    if output is Output.JSON:
        write_json(done.model_dump(mode="json", by_alias=True))
    else:
        show_applied(done, console())
    return Exit.JOB_FAILED if done.failed or done.left else Exit.OK


@app.command("from-crontab")
def from_crontab(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A crontab, or - for standard input.")] = "-",
    system: Annotated[
        bool, typer.Option("--system", help="Each job names its user, as in /etc/crontab and /etc/cron.d.")
    ] = False,
    timezone: Annotated[
        _Text, typer.Option("-z", "--timezone", metavar="ZONE", help="Of lines without CRON_TZ.")
    ] = None,
    queue: Annotated[str, typer.Option("-q", "--queue", metavar="NAME", help="Where they run.")] = "default",
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Begins every id.")] = "",
) -> int:
    """Say a crontab as schedules of the kind `command`, for apply.

    Lines go to standard error with what is to be known of them; exit code 1 when some became no schedule. Asks no API.

    \b
    crontab -l | duetime schedules from-crontab -z Europe/Paris | duetime schedules apply --dry-run
    """
    from duetime.cron import RuleError
    from duetime.crontab import import_crontab

    name = "crontab" if file == "-" else Path(file).name
    try:
        found = import_crontab(
            _text(file), system=system, timezone=timezone, queue=queue, prefix=prefix, name=name
        )
    except RuleError as error:
        raise BadSetting(f"--timezone: {error}") from None
    for remark in found.remarks:
        where = f"line {remark.line}: " if remark.line else ""
        say(f"{where}{'NOT IMPORTED: ' if remark.is_refused else ''}{remark.text}")
    write_json({"schedules": found.schedules})
    return Exit.OK if found.is_whole else Exit.JOB_FAILED


for _command in (pause, resume, trigger, skip, backfill, occurrences):
    app.command()(_command)


@app.command()
def forecast(
    context: typer.Context,
    hours: Annotated[int, typer.Option(min=1, max=168, metavar="NUMBER", help="How far ahead.")] = 24,
    output: As = Output.TABLE,
) -> int:
    """Say how many runs all schedules start, minute by minute, and what would flatten the peaks."""
    with client_of(context) as client:
        seen = client.schedules.forecast(hours)
    if output is Output.JSON:
        write_json(seen.model_dump(mode="json", by_alias=True))
    else:
        show_forecast(seen, console())
    return Exit.OK


def _text(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read()
        with open(file, encoding="utf-8", newline="") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"FILE: {file} cannot be read: {unreadable(error)}") from None


def _read(file: str) -> Any:
    text = _text(file)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSetting(f"{file}: not JSON ({error})") from None
