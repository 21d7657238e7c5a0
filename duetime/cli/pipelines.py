"""`duetime pipelines …`: jobs ordered by their needs, from the command line."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from duetime.cli.context import As, Output, client_of, say, unreadable, write_json
from duetime.cli.exits import BY_STATE, Exit, ReaderGone
from duetime.cli.reading import StateOption
from duetime.cli.show import console
from duetime.cli.show_pipeline import event_line, show_pipeline, show_pipelines
from duetime.client.events import PipelineEvent
from duetime.client.fields import OnConflict
from duetime.client.pipelines import GraphFormat, PipelineFilters
from duetime.client.waiting import span
from duetime.contracts.json_value import parse_json
from duetime.contracts.pipeline_view import PipelineSummary, PipelineView
from duetime.contracts.states import FINAL
from duetime.errors import BadSetting, InvalidField

_Text = str | None
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The pipeline's id.", show_default=False)]
WaitOption = Annotated[
    bool, typer.Option("-w", "--wait", help="Until it is final; the exit code says how it ended.")
]
WaitTimeoutOption = Annotated[_Text, typer.Option(metavar="SPAN", help="Wait no longer; exit code 7.")]

app = typer.Typer(
    help="Jobs ordered by their needs: submit, follow, cancel and redrive them as one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("submit")
def submit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The pipeline as JSON.", show_default=False)],
    id: Annotated[_Text, typer.Option(metavar="ID", help="Its id, in place of that in the file.")] = None,
    on_conflict: Annotated[
        OnConflict | None,
        typer.Option(metavar="reject|return|replace", help="When an open pipeline has the id."),
    ] = None,
    reuse_id: Annotated[bool, typer.Option("--reuse-id", help="Take the id of a finished one.")] = False,
    idempotency_key: Annotated[
        _Text, typer.Option(metavar="KEY", help="Repeated with the same key it stays one pipeline.")
    ] = None,
    wait: WaitOption = False,
    wait_timeout: WaitTimeoutOption = None,
    output: As = Output.TABLE,
) -> int:
    """Hand over a pipeline.

    It is durable when this returns.

    \b
    duetime pipelines submit nightly.json --id nightly-2026-11-30 --wait
    """
    spec = _spec(file)
    given = {"id": id, "on_conflict": on_conflict, "reuse_id": reuse_id or None}
    spec |= {name: value for name, value in given.items() if value is not None}
    longest = span("--wait-timeout", wait_timeout) if wait_timeout else None
    with client_of(context) as client:
        try:
            pipeline: PipelineView = client.pipelines.submit_spec(spec, idempotency_key=idempotency_key)
        except InvalidField as error:
            if any(fault.pointer == "header Idempotency-Key" for fault in error.errors):
                raise
            # Here a field is one of the file, and not an option.
            raise BadSetting(
                "; ".join(f"{fault.pointer or 'the pipeline'}: {fault.message}" for fault in error.errors)
            ) from None
        for warning in pipeline.warnings:
            say(f"warning: {warning}")
        if not (wait or wait_timeout):
            return _tell(pipeline, output)
        say(f"waiting for {pipeline.id}")
        done = pipeline if pipeline.state in FINAL else client.pipelines.wait_for(pipeline.id, longest)
        return _tell_end(done, output)


@app.command("get")
def get(context: typer.Context, pipeline_id: IdArgument, output: As = Output.TABLE) -> int:
    """Show a pipeline with the state of each job."""
    with client_of(context) as client:
        return _tell(client.pipelines.get(pipeline_id), output)


@app.command("wait")
def wait_for(
    context: typer.Context,
    pipeline_id: IdArgument,
    timeout: Annotated[_Text, typer.Option(metavar="SPAN", help="Wait no longer; exit code 7.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Wait until a pipeline is final.

    The exit code says how it ended.
    """
    longest = span("--timeout", timeout) if timeout else None
    with client_of(context) as client:
        return _tell_end(client.pipelines.wait_for(pipeline_id, longest), output)


@app.command("watch")
def watch(context: typer.Context, pipeline_id: IdArgument, output: As = Output.TABLE) -> int:
    """Follow a pipeline until it is final.

    A line for each event, with what has changed; the exit code says how it ended. With -o json a line is an object with
    `id`, `event`, `pipeline`.
    """
    with client_of(context) as client:
        before: PipelineEvent | None = None
        for event in client.pipelines.events(pipeline_id):
            if output is Output.JSON:
                told = event.pipeline.model_dump(mode="json")
                write_json({"id": event.id, "event": event.name, "pipeline": told}, indent=None)
            else:
                out = console()
                out.print(event_line(event.pipeline, before.pipeline if before else None))
                out.file.flush()
            before = event
        return BY_STATE[before.pipeline.state if before else client.pipelines.get(pipeline_id).state]


@app.command("list")
def list_pipelines(
    context: typer.Context,
    state: StateOption = None,
    schedule: Annotated[_Text, typer.Option("--schedule", metavar="ID", help="Made by this one.")] = None,
    created_after: Annotated[_Text, typer.Option(metavar="TIME", help="RFC 3339.")] = None,
    created_before: Annotated[_Text, typer.Option(metavar="TIME", help="RFC 3339.")] = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=1, metavar="NUMBER", help="So many at most.")
    ] = 50,
    cursor: Annotated[_Text, typer.Option(metavar="TEXT", help="Go on after an earlier list.")] = None,
    output: As = Output.TABLE,
) -> int:
    """List pipelines.

    Open ones first, the newest first; then the last closed. With -o json: an object with `pipelines` and `next_cursor`.
    """
    filters: PipelineFilters = {
        "state": [each.value for each in state] if state else None,
        "schedule_id": schedule,
        "created_after": created_after,
        "created_before": created_before,
    }
    found: list[PipelineSummary] = []
    with client_of(context) as client:
        while True:
            page = client.pipelines.page(limit=min(200, limit - len(found)), cursor=cursor, **filters)
            found += page.pipelines
            cursor = page.next_cursor
            if cursor is None or len(found) >= limit:
                break
    if output is Output.JSON:
        write_json({"pipelines": [each.model_dump(mode="json") for each in found], "next_cursor": cursor})
        return Exit.OK
    show_pipelines(found, console())
    if cursor is not None:
        say(f"and more; --limit shows more than {limit}")
    return Exit.OK


@app.command("graph")
def graph(
    context: typer.Context,
    pipeline_id: IdArgument,
    format: Annotated[
        GraphFormat, typer.Option("-f", "--format", metavar="mermaid|svg", help="Text, or a picture.")
    ] = "mermaid",
) -> int:
    """Draw a pipeline with the states of its jobs.

    \b
    duetime pipelines graph nightly-2026-11-30 --format svg > nightly.svg
    """
    with client_of(context) as client:
        drawn = client.pipelines.graph(pipeline_id, format)
    try:
        print(drawn, end="", flush=True)
    except BrokenPipeError:
        raise ReaderGone from None
    return Exit.OK


@app.command("cancel")
def cancel(
    context: typer.Context,
    pipeline_id: IdArgument,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for running handlers.")] = False,
    grace: Annotated[
        _Text, typer.Option(metavar="SPAN", help="What running handlers get to clean up.")
    ] = None,
    reason: Annotated[_Text, typer.Option(metavar="TEXT", help="Kept with the jobs.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Cancel what of a pipeline is not finished."""
    mode: Literal["force"] | None = "force" if force else None
    with client_of(context) as client:
        return _tell(client.pipelines.cancel(pipeline_id, mode=mode, grace=grace, reason=reason), output)


@app.command("retry")
def retry(
    context: typer.Context,
    pipeline_id: IdArgument,
    run_id: Annotated[_Text, typer.Option(metavar="ID", help="Refuse unless this is the newest run.")] = None,
    wait: WaitOption = False,
    wait_timeout: WaitTimeoutOption = None,
    output: As = Output.TABLE,
) -> int:
    """Run what failed again, and what was skipped because of it.

    What succeeded keeps its result.
    """
    longest = span("--wait-timeout", wait_timeout) if wait_timeout else None
    with client_of(context) as client:
        pipeline = client.pipelines.retry(pipeline_id, run_id=run_id)
        if not (wait or wait_timeout):
            return _tell(pipeline, output)
        say(f"waiting for {pipeline.id}")
        return _tell_end(client.pipelines.wait_for(pipeline.id, longest), output)


def _tell(pipeline: PipelineView, output: Output) -> int:
    if output is Output.JSON:
        write_json(pipeline)
    else:
        show_pipeline(pipeline, console())
    return Exit.OK


def _tell_end(pipeline: PipelineView, output: Output) -> int:
    _tell(pipeline, output)
    return BY_STATE[pipeline.state]


def _spec(file: str) -> dict[str, Any]:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise BadSetting(f"FILE: {file} cannot be read: {unreadable(error)}") from None
    try:
        value = parse_json(data)
    except (ValueError, json.JSONDecodeError) as error:
        raise BadSetting(f"FILE: {file} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadSetting(f"FILE: must hold a JSON object, not {type(value).__name__}")
    return value
