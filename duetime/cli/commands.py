"""Commands that change a job: `cancel`, `retry`, `run-now`, `move`."""

from typing import Annotated, Literal

import typer

from duetime.cli.context import As, JobIdArgument, Output, client_of, tell

_Text = str | None
_Begin = Literal["start", "checkpoint"]


def cancel(
    context: typer.Context,
    job_id: JobIdArgument,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for a running handler.")] = False,
    grace: Annotated[
        _Text, typer.Option(metavar="SPAN", help="What a running handler gets to clean up.")
    ] = None,
    reason: Annotated[_Text, typer.Option(metavar="TEXT", help="Kept with the job.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Cancel a job.

    What no attempt holds ends at once; a running handler may clean up.
    """
    with client_of(context) as client:
        mode: Literal["force"] | None = "force" if force else None
        return tell(client.cancel(job_id, mode=mode, grace=grace, reason=reason), output)


def retry(
    context: typer.Context,
    job_id: JobIdArgument,
    begin: Annotated[
        _Begin, typer.Option("--from", metavar="start|checkpoint", help="What its first attempt is given.")
    ] = "start",
    run_id: Annotated[_Text, typer.Option(metavar="ID", help="Refuse unless this is the newest run.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Also when it has succeeded.")] = False,
    output: As = Output.TABLE,
) -> int:
    """Run a final job again under its id."""
    with client_of(context) as client:
        return tell(client.retry(job_id, begin=begin, run_id=run_id, force=force or None), output)


def run_now(context: typer.Context, job_id: JobIdArgument, output: As = Output.TABLE) -> int:
    """Start a scheduled or retrying job now."""
    with client_of(context) as client:
        return tell(client.run_now(job_id), output)


def move(
    context: typer.Context,
    job_id: JobIdArgument,
    run_at: Annotated[_Text, typer.Option(metavar="TIME", help="RFC 3339, or local with --timezone.")] = None,
    timezone: Annotated[_Text, typer.Option(metavar="ZONE", help="IANA name, such as Europe/Paris.")] = None,
    delay: Annotated[_Text, typer.Option("-d", "--delay", metavar="SPAN", help="So long from now.")] = None,
    priority: Annotated[int | None, typer.Option(metavar="1-5", help="1 is first.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Change due time or priority.

    Of a job that has not begun.
    """
    with client_of(context) as client:
        job = client.move(job_id, run_at=run_at, timezone=timezone, delay=delay, priority=priority)
        return tell(job, output)
