"""What `why` suggests is said as a command that this command line has."""

import shlex

import click
import pytest
import typer.main

from duetime.cli.main import app
from duetime.cli.suggested import as_command
from duetime.contracts.why import Suggestion


def line(method: str, path: str, body: object = None) -> str:
    return as_command(
        Suggestion.model_validate(
            {"action": "a", "detail": "d", "method": method, "path": path, "body": body}
        )
    )


@pytest.mark.parametrize(
    ("call", "command"),
    [
        (("POST", "/v1/jobs/a:b:run-now"), "duetime run-now a:b"),
        (("POST", "/v1/jobs/my%20job%2F1:run-now"), "duetime run-now 'my job/1'"),
        (("POST", "/v1/jobs/j:cancel", {"mode": "graceful"}), "duetime cancel j"),
        (("POST", "/v1/jobs/j:retry"), "duetime retry j"),
        (("POST", "/v1/jobs/j:retry", {"force": True}), "duetime retry j --force"),
        (("POST", "/v1/pipelines/p:retry"), "duetime pipelines retry p"),
        (("GET", "/v1/jobs/j/why"), "duetime why j"),
        (("PATCH", "/v1/jobs/j", {"priority": 1}), "duetime move j --priority 1"),
        (("POST", "/v1/queues/mail:resume"), "duetime queues resume mail"),
        (
            ("PUT", "/v1/queues/mail/rate", {"per_second": None, "reason": "no limit needed"}),
            "duetime queues rate mail none --reason 'no limit needed'",
        ),
        (
            ("PUT", "/v1/queues/mail/concurrency", {"limit": 1000, "reason": "more"}),
            "duetime queues concurrency mail 1000 --reason more",
        ),
        (("DELETE", "/v1/queues/mail/concurrency"), "duetime queues concurrency mail none"),
    ],
)
def test_a_call_is_told_as_a_command_that_there_is(call: tuple[str, ...], command: str) -> None:
    assert line(*call) == command
    words = shlex.split(command)[1:]
    group: click.Command = typer.main.get_command(app)
    context = click.Context(group)
    while isinstance(group, click.Group):
        name, found, words = group.resolve_command(context, words)
        assert found is not None, name
        group = found
    group.make_context("duetime", words)  # its arguments and options are there


def test_what_has_no_command_is_told_as_it_is() -> None:
    assert line("POST", "/v1/else", {"a": "it's"}) == """POST /v1/else '{"a": "it'"'"'s"}'"""
    run = Suggestion(action="start_worker", detail="d", command="python worker.py")
    assert as_command(run) == "python worker.py"
    assert as_command(Suggestion(action="change_workers", detail="d")) == ""
