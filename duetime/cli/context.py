"""What all commands share: how to reach the API, and how to say things."""

import enum
import logging
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from duetime.cli.exits import BY_STATE, Exit, ReaderGone
from duetime.cli.show import console, show_job
from duetime.cli.text import as_json, safe
from duetime.client import SyncClient
from duetime.contracts.view import JobView
from duetime.errors import BadSetting


class Output(enum.StrEnum):
    """For people or for scripts."""

    TABLE = "table"
    JSON = "json"


As = Annotated[
    Output,
    typer.Option(
        "-o", "--output", metavar="table|json", help="For people, or for scripts.", show_default=False
    ),
]
JobIdArgument = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]


@dataclass(frozen=True)
class Connection:
    """Where the API is, from the options before the command."""

    url: str | None = None
    api_key_file: Path | None = None
    timeout: str = "30s"
    verbose: int = 0

    def client(self) -> SyncClient:
        """A client; `BadSetting` says which option or variable cannot be."""
        _set_up_logs(self.verbose)
        key = None if self.api_key_file is None else _key_in(self.api_key_file)
        return SyncClient(self.url, api_key=key, timeout=self.timeout)


def _key_in(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise BadSetting(f"--api-key-file: {path} cannot be read: {unreadable(error, 'ASCII')}") from None


def unreadable(error: OSError | ValueError, text: str = "UTF-8") -> str:
    """Why a file cannot be read, without Python's numbers."""
    return error.strerror or str(error) if isinstance(error, OSError) else f"not {text} text"


def client_of(context: typer.Context) -> SyncClient:
    """The client for this command line."""
    connection = context.obj
    assert isinstance(connection, Connection)
    return connection.client()


def say(line: str) -> None:
    """A line for people, beside the output."""
    print(safe(line), file=sys.stderr)


def complain(lines: Iterable[str]) -> None:
    """What is wrong, and then the way out."""
    for number, line in enumerate(lines):
        say(f"duetime: {line}" if number == 0 else f"  {line}")


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """`value` as JSON on standard output; models as on the wire."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    try:
        print(as_json(plain, indent=indent), flush=True)
    except BrokenPipeError:
        raise ReaderGone from None


def tell(job: JobView, output: Output) -> int:
    """A job as the answer to a command; exit code 0, however the job stands."""
    if output is Output.JSON:
        write_json(job)
    else:
        show_job(job, console())
    return Exit.OK


def tell_end(job: JobView, output: Output) -> int:
    """A job that was waited for; the exit code says how it ended."""
    tell(job, output)
    return BY_STATE[job.state]


def _set_up_logs(verbose: int) -> None:
    """What goes on, on standard error: warnings; `-v` repetitions; `-vv` everything."""
    level = [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    logging.basicConfig(level=logging.WARNING, format="duetime: %(message)s", stream=sys.stderr, force=True)
    logging.getLogger("duetime").setLevel(level)
