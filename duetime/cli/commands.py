"""Commands that change a job: `cancel`, `retry`, `run-now`, `move`."""

from typing import Annotated, Literal

import typer

from duetime.cli import many
from duetime.cli.context import As, JobIdArgument, Output, client_of, tell
from duetime.cli.reading import (
    AfterOption,
    BeforeOption,
    KindOption,
    PipelineOption,
    QueueOption,
    ScheduleOption,
    StateOption,
    TagOption,
)
from duetime.contracts.states import OPEN, State
from duetime.errors import BadSetting

_Text = str | None
_Begin = Literal["start", "checkpoint"]
OneJob = Annotated[
    str | None, typer.Argument(metavar="ID", help="A job; or else filters for many.", show_default=False)
]


def cancel(
    context: typer.Context,
    job_id: OneJob = None,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for a running handler.")] = False,
    grace: Annotated[
        _Text, typer.Option(metavar="SPAN", help="What a running handler gets to clean up.")
    ] = None,
    reason: Annotated[_Text, typer.Option(metavar="TEXT", help="Kept with the job.")] = None,
    state: StateOption = None,
    kind: KindOption = None,
    queue: QueueOption = None,
    tag: TagOption = None,
    schedule: ScheduleOption = None,
    pipeline: PipelineOption = None,
    created_after: AfterOption = None,
    created_before: BeforeOption = None,
    every: many.Every = False,
    dry_run: many.DryRun = False,
    rate: many.Rate = None,
    wait: many.Wait = False,
    wait_timeout: many.WaitTimeout = None,
    output: As = Output.TABLE,
) -> int:
    """Cancel a job, or every open one that the filters hold.

    What no attempt holds ends at once; a running handler may clean up.

    \b
    duetime cancel report-4711
    duetime cancel --kind report.build --dry-run
    """
    mode: Literal["force"] | None = "force" if force else None
    states = many.states_of(state, failed=False, every=every, usual=sorted(OPEN))
    which = many.filters(states, kind, queue, tag, schedule, pipeline, created_after, created_before)
    only_many = dry_run or rate is not None or wait or wait_timeout is not None
    with client_of(context) as client:
        if not many.check_one_or_many(job_id, which, only_many):
            assert job_id is not None
            return tell(client.cancel(job_id, mode=mode, grace=grace, reason=reason), output)
        begun = client.cancel_many(dry_run=dry_run, rate=rate, mode=mode, grace=grace, reason=reason, **which)
        return many.follow(client, begun, output, wait, wait_timeout, until_frozen=dry_run)


def retry(
    context: typer.Context,
    job_id: OneJob = None,
    begin: Annotated[
        _Begin, typer.Option("--from", metavar="start|checkpoint", help="What its first attempt is given.")
    ] = "start",
    run_id: Annotated[_Text, typer.Option(metavar="ID", help="Refuse unless this is the newest run.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Also when it has succeeded.")] = False,
    state: StateOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="The same as --state failed.")] = False,
    kind: KindOption = None,
    queue: QueueOption = None,
    tag: TagOption = None,
    schedule: ScheduleOption = None,
    pipeline: PipelineOption = None,
    created_after: AfterOption = None,
    created_before: BeforeOption = None,
    every: many.Every = False,
    dry_run: many.DryRun = False,
    rate: many.Rate = None,
    canary: many.Canary = None,
    wait: many.Wait = False,
    wait_timeout: many.WaitTimeout = None,
    output: As = Output.TABLE,
) -> int:
    """Run a final job again under its id, or every one that the filters hold.

    \b
    duetime retry report-4711 --from checkpoint
    duetime retry --failed --kind report.build --dry-run
    duetime retry --failed --kind report.build --canary 3 --rate 10 --wait
    """
    states = many.states_of(state, failed, every, [State.FAILED, State.EXPIRED])
    which = many.filters(states, kind, queue, tag, schedule, pipeline, created_after, created_before)
    only_many = dry_run or wait or any(each is not None for each in (rate, canary, wait_timeout))
    with client_of(context) as client:
        if not many.check_one_or_many(job_id, which, only_many):
            assert job_id is not None
            return tell(client.retry(job_id, begin=begin, run_id=run_id, force=force or None), output)
        if run_id is not None:
            raise BadSetting("--run-id: is for one job")
        begun = client.retry_many(
            dry_run=dry_run, rate=rate, canary=canary, begin=begin, force=force or None, **which
        )
        return many.follow(client, begun, output, wait, wait_timeout, until_frozen=dry_run)


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
