"""`duetime submit`: hand over a job."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from duetime.cli.context import As, Output, client_of, say, tell, tell_end, unreadable
from duetime.client.fields import JobFields, OnConflict
from duetime.client.waiting import span
from duetime.contracts.states import FINAL
from duetime.errors import BadSetting

_SPAN = "SPAN"
_Text = str | None


def submit(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What to run.", show_default=False)],
    payload: Annotated[
        _Text,
        typer.Option(
            "-p", "--payload", metavar="JSON|@FILE|-", help="A JSON object, a file, or standard input."
        ),
    ] = None,
    id: Annotated[_Text, typer.Option(metavar="ID", help="Its id, which no two jobs have.")] = None,
    queue: Annotated[_Text, typer.Option("-q", "--queue", metavar="NAME")] = None,
    run_at: Annotated[
        _Text, typer.Option(metavar="TIME", help="When: RFC 3339, or a local time with --timezone.")
    ] = None,
    timezone: Annotated[_Text, typer.Option(metavar="ZONE", help="IANA name, such as Europe/Paris.")] = None,
    delay: Annotated[
        _Text, typer.Option("-d", "--delay", metavar=_SPAN, help="So long from now: 90s, 1h30m.")
    ] = None,
    spread: Annotated[
        _Text, typer.Option(metavar=_SPAN, help="Moved by a part of this, against herds.")
    ] = None,
    priority: Annotated[int | None, typer.Option(metavar="1-5", help="1 is first, 3 the default.")] = None,
    fairness_key: Annotated[_Text, typer.Option(metavar="TEXT", help="Whose share of the queue.")] = None,
    fairness_weight: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="How large that share is.")
    ] = None,
    concurrency_key: Annotated[
        _Text, typer.Option(metavar="TEXT", help="Of one key, so many run at once; with the next.")
    ] = None,
    concurrency_limit: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="How many of that key, 1 to 1000.")
    ] = None,
    retry: Annotated[
        _Text, typer.Option(metavar="JSON", help='As {"max_attempts": 3, "backoff": 2.0}.')
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="The same within --retry.")
    ] = None,
    timeout: Annotated[_Text, typer.Option(metavar=_SPAN, help="Of one attempt.")] = None,
    lease: Annotated[_Text, typer.Option(metavar=_SPAN, help="Without a sign of life.")] = None,
    queue_timeout: Annotated[_Text, typer.Option(metavar=_SPAN, help="Until a worker takes it.")] = None,
    deadline: Annotated[
        _Text, typer.Option(metavar=_SPAN, help="Of the whole job, from its due time.")
    ] = None,
    after: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A job before it. Repeatable.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("-t", "--tag", metavar="TEXT", help="Repeatable.")] = None,
    on_conflict: Annotated[
        OnConflict | None,
        typer.Option(metavar="reject|return|replace", help="When an open job has the id."),
    ] = None,
    reuse_id: Annotated[bool, typer.Option("--reuse-id", help="Take the id of a finished job.")] = False,
    idempotency_key: Annotated[
        _Text, typer.Option(metavar="KEY", help="Repeated with the same key it stays one job.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("-w", "--wait", help="Until it is final; the exit code says how.")
    ] = False,
    wait_timeout: Annotated[_Text, typer.Option(metavar=_SPAN, help="Wait no longer; exit code 7.")] = None,
    output: As = Output.TABLE,
) -> int:
    """Hand over a job.

    It is durable when this returns.

    \b
    duetime submit hello -p '{"name": "world"}' --delay 15m
    duetime submit report.build -p @report.json --wait --wait-timeout 10m
    """
    policy = _object("--retry", retry) if retry is not None else {}
    if max_attempts is not None:
        policy["max_attempts"] = max_attempts
    fields: JobFields = {
        "id": id,
        "queue": queue,
        "run_at": run_at,
        "timezone": timezone,
        "delay": delay,
        "spread": spread,
        "priority": priority,
        "fairness_key": fairness_key,
        "fairness_weight": fairness_weight,
        "concurrency": _concurrency(concurrency_key, concurrency_limit),
        "retry": policy or None,
        "timeout": timeout,
        "lease": lease,
        "queue_timeout": queue_timeout,
        "deadline": deadline,
        "after": after or None,
        "tags": tag or None,
        "on_conflict": on_conflict,
        "reuse_id": reuse_id or None,
    }
    longest = span("--wait-timeout", wait_timeout) if wait_timeout else None
    with client_of(context) as client:
        job = client.submit(kind, _payload(payload), idempotency_key=idempotency_key, **fields)
        for warning in job.warnings:
            say(f"warning: {warning}")
        if not (wait or wait_timeout):
            return tell(job, output)
        say(f"waiting for {job.id}")
        done = job if job.state in FINAL else client.wait_for(job.id, longest)
        return tell_end(done, output)


def _concurrency(key: str | None, limit: int | None) -> dict[str, Any] | None:
    if key is None and limit is None:
        return None
    if key is None or limit is None:
        raise BadSetting("--concurrency-key and --concurrency-limit go together: give both")
    return {"key": key, "limit": limit}


def _payload(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    if text == "-":
        return _object("--payload", sys.stdin.read())
    if text.startswith("@"):
        try:
            return _object("--payload", Path(text[1:]).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(f"--payload: {text[1:]} cannot be read: {unreadable(error)}") from None
    return _object("--payload", text)


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSetting(f'{option}: not JSON ({error}); write it as \'{{"name": "value"}}\'') from None
    if not isinstance(value, dict):
        raise BadSetting(f"{option}: must be a JSON object, not {type(value).__name__}")
    return value
