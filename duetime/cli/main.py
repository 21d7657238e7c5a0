"""The command line: its commands, and how it ends."""

import contextlib
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException
from typer.exceptions import Exit as TyperExit

from duetime.cli import commands, many, pipelines, reading, schedules, service, submit, worker
from duetime.cli.context import Connection, complain
from duetime.cli.exits import Exit, ReaderGone, code_of, lines_of
from duetime.errors import DuetimeError

_EXAMPLES = """\b
Examples:
  duetime submit hello -p '{"name": "world"}' --delay 5s --wait
  duetime submit report.build -p @report.json --id report-4711
  duetime list --state failed
  duetime get report-4711
  duetime watch report-4711
  duetime retry report-4711 --from checkpoint
  duetime pipelines submit nightly.json --wait
  duetime retry --failed --kind report.build --canary 3 --wait
  duetime queues pause mail --reason "the mail server moves"
  duetime doctor
  duetime schedules preview '30 1 * * *' -z America/New_York
  duetime worker my_app.handlers --queues mail,reports

\b
Exit codes:
  0 ok                 4 wrong state, id in use   8 the job was cancelled
  1 the job failed     5 unavailable              9 the job expired
  2 wrong arguments    6 no key, or not allowed   10 the job was skipped
  3 not found          7 the wait was over        130 Ctrl-C

\b
The API is at DUETIME_URL, by default http://127.0.0.1:8000; the key is in DUETIME_API_KEY.
"""

#: Options about the API, which may stand anywhere.
_ANYWHERE = ("--url", "--api-key-file")

app = typer.Typer(
    name="duetime",
    help="Hand over jobs, see what becomes of them, and run their handlers.",
    epilog=_EXAMPLES,
    rich_markup_mode=None,
    # A traceback with local variables would show the key.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"duetime {version('duetime')}")
        except PackageNotFoundError:
            print("duetime (not installed)")
        raise TyperExit


@app.callback()
def _before(
    context: typer.Context,
    url: Annotated[
        str | None, typer.Option(envvar="DUETIME_URL", metavar="URL", help="The API, as http://host:port.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Holds the API key, instead of DUETIME_API_KEY.")
    ] = None,
    timeout: Annotated[str, typer.Option(metavar="SPAN", help="What one call may take.")] = "30s",
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Tell more; twice: all.")] = 0,
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    context.obj = Connection(url, api_key_file, timeout, verbose)


app.command("submit")(submit.submit)
app.command("get")(reading.get)
app.command("list")(reading.list_jobs)
app.command("count")(reading.count)
app.command("wait")(reading.wait)
app.command("watch")(reading.watch)
app.command("events", hidden=True)(reading.watch)
app.command("cancel")(commands.cancel)
app.command("retry")(commands.retry)
app.command("run-now")(commands.run_now)
app.command("move")(commands.move)
app.command("kinds")(reading.kinds)
app.add_typer(pipelines.app, name="pipelines")
app.command("why")(service.why)
app.command("backlog")(service.backlog)
app.command("doctor")(service.doctor)
app.add_typer(service.queues, name="queues")
app.add_typer(many.app, name="operations")
app.add_typer(schedules.app)
app.command("worker")(worker.worker)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code; nothing that goes wrong escapes."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            # What the terminal's encoding does not have is escaped, rather than fatal.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except DuetimeError as error:
        complain(lines_of(error))
        return code_of(error)
    except TyperException as error:
        return _misused(error)
    except SystemExit as ended:  # how completion ends
        return ended.code if isinstance(ended.code, int) else Exit.OK
    except (KeyboardInterrupt, Abort):
        return Exit.INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        return Exit.BROKEN_PIPE
    except Exception:
        traceback.print_exc()
        return Exit.INTERNAL


def _misused(error: TyperException) -> int:
    """Tells how a command is to be used; a group without a command shows those that it has, as `duetime` alone does."""
    context = getattr(error, "ctx", None)
    if context is not None and error.message == context.get_help():
        print(error.message)
        return Exit.USAGE
    path = context.command_path if context else "duetime"
    # Of an option with a fixed set of values the sentence is pydantic's.
    complain([error.format_message().replace(": Value error, ", ": "), f"{path} --help shows what there is"])
    return Exit.USAGE


def _run(arguments: Sequence[str]) -> int:
    command = typer.main.get_command(app)
    ended = command.main(args=hoist(arguments) or ["--help"], prog_name="duetime", standalone_mode=False)
    sys.stdout.flush()  # a pipe that broke is heard of here, not at the very end
    if not arguments:
        return Exit.USAGE
    return ended if isinstance(ended, int) else Exit.OK


def hoist(arguments: Sequence[str]) -> list[str]:
    """The arguments with the options about the API in front, where they belong; people also write them at the end."""
    front: list[str] = []
    rest = list(arguments)
    index = 0
    while index < len(rest) and rest[index] != "--":
        name, equals, _ = rest[index].partition("=")
        if name in _ANYWHERE:
            length = 1 if equals else 2
            front += rest[index : index + length]
            del rest[index : index + length]
        else:
            index += 1
    return front + rest
