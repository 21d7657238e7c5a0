"""What the commands do, say, and end with."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from duetime import State
from duetime.cli.exits import Exit
from duetime.contracts.job import Concurrency
from duetime.testing import FakeDuetime
from tests.cli.conftest import Cli


def test_a_job_is_submitted_with_all_that_was_said(cli: Cli, fake: FakeDuetime) -> None:
    said = cli(
        *(
            "submit",
            "greet",
            "-p",
            '{"name": "you"}',
            "--id",
            "j1",
            "-q",
            "mail",
            "-d",
            "1h",
            "--priority",
            "2",
        ),
        *(
            "--fairness-key",
            "t",
            "--fairness-weight",
            "2.5",
            "--retry",
            '{"backoff": 3.0}',
            "--max-attempts",
            "7",
            "--concurrency-key",
            "tenant-42",
            "--concurrency-limit",
            "3",
        ),
        *(
            "--timeout",
            "5m",
            "--lease",
            "10s",
            "--queue-timeout",
            "2h",
            "--deadline",
            "3h",
            "-t",
            "a",
            "-t",
            "b",
        ),
        *("--idempotency-key", "k", "-o", "json"),
    )
    assert said.code == Exit.OK
    assert said.json["id"] == "j1"
    spec = fake._world.jobs["j1"].spec
    assert (spec.kind, spec.payload, spec.queue, spec.tags) == ("greet", {"name": "you"}, "mail", ["a", "b"])
    assert (spec.priority, spec.fairness_key, spec.fairness_weight) == (2, "t", 2.5)
    assert spec.concurrency == Concurrency(key="tenant-42", limit=3)
    assert (spec.retry.max_attempts, spec.retry.backoff) == (7, 3.0)
    spans = (spec.timeout, spec.lease, spec.queue_timeout, spec.deadline)
    assert [span.total_seconds() for span in spans if span] == [300, 10, 7200, 10800]
    again = cli("submit", "greet", "--id", "j1", "--after", "j1")
    assert again.code == Exit.USAGE
    assert "--after: a job cannot come after itself" in again.err


def test_what_is_not_said_is_left_to_the_kind(cli: Cli, fake: FakeDuetime) -> None:
    assert cli("submit", "greet").code == Exit.OK
    (job,) = fake.jobs()
    assert fake._world.jobs[job.id].spec.compact() == {"kind": "greet"}


def test_a_payload_comes_from_a_file_or_from_standard_input(
    cli: Cli, fake: FakeDuetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"name": "é"}', encoding="utf-8")
    assert cli("submit", "greet", "-p", f"@{file}").code == Exit.OK
    monkeypatch.setattr("sys.stdin", io.StringIO('{"name": "stdin"}'))
    assert cli("submit", "greet", "-p", "-").code == Exit.OK
    assert [job.payload for job in fake.jobs()] == [{"name": "é"}, {"name": "stdin"}]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("submit", "greet", "-p", "{"), "--payload: not JSON"),
        (("submit", "greet", "-p", "[1]"), "--payload: must be a JSON object, not list"),
        (("submit", "greet", "-p", "@/nowhere"), "--payload: /nowhere cannot be read"),
        (("submit", "greet", "--retry", "3"), "--retry: must be a JSON object, not int"),
        (("submit", "greet", "--delay", "soon"), "--delay: not a duration: write"),
        (("submit", "greet", "--run-at", "2027-01-01T00:00:00"), "--run-at: has no offset"),
        (("submit", "greet", "--priority", "9"), "--priority: "),
        (("submit", "greet", "--priority", "high"), "Invalid value for '--priority'"),
        (("submit", "greet", "-t", ""), "--tag: "),
        (("submit", "greet", "--idempotency-key", "é"), "--idempotency-key: must have 1 to 255"),
        (("submit", "greet", "--on-conflict", "ignore"), "--on-conflict"),
        (("submit",), "KIND"),
        (("list", "--state", "done"), "--state"),
        (("list", "--created-after", "yesterday"), "--created-after: not an instant"),
        (("wait", "x", "--timeout", "long"), "not a duration"),
        (("lsit",), "lsit"),
        (("get", "x", "--wait"), "--wait"),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_its_option(
    cli: Cli, arguments: tuple[str, ...], says: str
) -> None:
    said = cli(*arguments)
    assert (said.code, said.out) == (Exit.USAGE, "")
    assert says in said.err
    assert said.err.startswith("duetime: ")


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("greet", (), Exit.OK),
        ("reject", (), Exit.JOB_FAILED),
        ("greet", ("--queue", "nobody", "--deadline", "1s"), Exit.JOB_EXPIRED),
        ("greet", ("--delay", "2h", "--wait-timeout", "1h"), Exit.WAIT_TIMEOUT),
    ],
)
def test_who_waits_is_told_how_it_ended(cli: Cli, kind: str, options: tuple[str, ...], code: Exit) -> None:
    said = cli("submit", kind, "--wait", "-o", "json", *options)
    assert said.code == code
    if code is Exit.WAIT_TIMEOUT:
        assert said.out == ""
        assert "go on waiting: duetime wait 0" in said.err
    else:
        assert State(said.json["state"]).value == {0: "succeeded", 1: "failed", 9: "expired"}[code]


def test_the_result_of_a_job_that_was_waited_for_is_there_for_scripts(cli: Cli) -> None:
    said = cli("submit", "greet", "-w", "-o", "json")
    assert said.json["result"] == {"greeting": "Hello, world!"}
    assert cli("wait", said.json["id"], "-o", "json").json == said.json
    assert "Hello, world!" in cli("get", said.json["id"]).out


def test_waiting_for_a_job_that_was_cancelled(cli: Cli) -> None:
    cli("submit", "greet", "--id", "j1", "--delay", "1h")
    said = cli("cancel", "j1", "--reason", "not wanted")
    assert (said.code, said.lines[0]) == (Exit.OK, "j1 cancelled")
    assert "Cancelled: not wanted" in said.out
    assert cli("wait", "j1").code == Exit.JOB_CANCELLED
    assert cli("watch", "j1").code == Exit.JOB_CANCELLED
    assert cli("get", "j1").code == Exit.OK


def test_a_job_is_moved_started_and_redriven(cli: Cli) -> None:
    cli("submit", "reject", "--id", "j1", "--delay", "2h")
    moved = cli("move", "j1", "--delay", "1h", "--priority", "1", "-o", "json")
    assert (moved.code, moved.json["priority"]) == (Exit.OK, 1)
    assert cli("run-now", "j1", "-o", "json").json["state"] == "queued"
    failed = cli("wait", "j1", "-o", "json")
    assert failed.code == Exit.JOB_FAILED
    again = cli("retry", "j1", "--from", "checkpoint", "--run-id", failed.json["run_id"], "-o", "json")
    assert again.json["run_id"] != failed.json["run_id"]
    late = cli("retry", "j1")
    assert late.code == Exit.CONFLICT
    assert late.err == (
        "duetime: the job is still open; only a final one can be redriven\n  see it: duetime get j1\n"
    )


@pytest.mark.parametrize("command", ["get", "wait", "watch", "cancel", "retry", "run-now", "move"])
def test_an_unknown_id(cli: Cli, command: str) -> None:
    options = ("--priority", "1") if command == "move" else ()
    said = cli(command, "nobody", *options)
    assert (said.code, said.out) == (Exit.NOT_FOUND, "")
    assert said.err == "duetime: no job has the id 'nobody'\n"


def test_jobs_are_listed_and_counted(cli: Cli) -> None:
    for number in range(3):
        cli("submit", "greet", "--id", f"j{number}", "--delay", "1h", "-t", "a")
    cli("submit", "reject", "--id", "bad", "--wait")
    listed = cli("list", "-o", "json")
    assert [job["id"] for job in listed.json["jobs"]] == ["j2", "j1", "j0", "bad"]
    assert listed.json["next_cursor"] is None
    assert [job["id"] for job in cli("list", "-s", "failed", "-o", "json").json["jobs"]] == ["bad"]
    page = cli("list", "-n", "2", "-o", "json").json
    assert len(page["jobs"]) == 2
    rest = cli("list", "--cursor", page["next_cursor"], "-o", "json").json
    assert [job["id"] for job in rest["jobs"]] == ["j0", "bad"]
    table = cli("list", "-n", "2", "--tag", "a")
    assert table.lines[0] == "ID STATE KIND DUE QUEUE FINISHED TAGS"
    assert table.lines[1].startswith("j2 scheduled greet in ")
    assert table.err == "and more; --limit shows more than 2\n"
    assert cli("count").lines == ["scheduled 3", "failed 1", "total 4"]
    assert cli("count", "-s", "failed", "-o", "json").json == {
        "total": 1,
        "states": {"failed": 1},
        "approximate": False,
    }


def test_kinds_are_listed(cli: Cli) -> None:
    assert cli("kinds").lines == ["KIND QUEUES DESCRIPTION", "greet default Greets.", "reject default"]
    assert [kind["kind"] for kind in cli("kinds", "-o", "json").json["kinds"]] == ["greet", "reject"]


def test_a_job_is_followed_line_by_line(cli: Cli) -> None:
    cli("submit", "greet", "--id", "j1", "--delay", "1h")
    said = cli("watch", "j1", "-o", "json")
    events: list[Any] = [json.loads(line) for line in said.out.splitlines()]
    assert [event["event"] for event in (events[0], events[-1])] == ["state", "done"]
    assert [event["job"]["state"] for event in (events[0], events[-1])] == ["scheduled", "succeeded"]
    assert cli("events", "j1").lines[-1].endswith(" succeeded")


def test_warnings_and_notes_stay_out_of_the_output(cli: Cli) -> None:
    said = cli("submit", "unheard-of", "--delay", "1h", "-o", "json")
    assert said.json["kind"] == "unheard-of"
    assert "warning: no worker ever announced the kind 'unheard-of'" in said.err


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--log-format", "xml", "--log-format: 'xml' is not text or json"),
        ("--metrics-port", "0", "metrics-port"),
        (
            "--queues",
            "mail,duetime",
            "--queues: 'duetime': queue names beginning with `duetime` are reserved",
        ),
        ("--queues", "a b", "--queues: 'a b': may hold letters, digits and _ . : - only"),
        ("--queues", ",", "--queues: name one at least"),
    ],
)
def test_a_worker_that_cannot_be_is_refused_before_it_connects(
    cli: Cli, option: str, value: str, says: str
) -> None:
    said = cli("worker", "tests.cli.handlers", option, value)
    assert said.code == Exit.USAGE and says in said.err


def test_half_a_concurrency_limit_is_none(cli: Cli) -> None:
    said = cli("submit", "greet", "--concurrency-key", "tenant-42")
    assert said.code == Exit.USAGE and "--concurrency-limit" in said.err


@pytest.mark.parametrize("group", ["queues", "schedules", "pipelines", "operations"])
def test_a_group_alone_shows_what_it_has(cli: Cli, group: str) -> None:
    said = cli(group)
    assert said.code == Exit.USAGE and said.err == ""
    assert said.lines[0] == f"Usage: duetime {group} [OPTIONS] COMMAND [ARGS]..."
    assert "Commands:" in said.lines and any(line.startswith("list ") for line in said.lines)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["queues", "pause"],
            ["Missing argument 'NAME'.", "duetime queues pause --help shows what there is"],
        ),
        (["list", "-s", "foo"], ["'-s' / '--state': 'foo' is not one of", "duetime list --help"]),
        (["nosuch"], ["No such command 'nosuch'.", "duetime --help shows what there is"]),
        (["submit", "greet", "-p", "@none.json"], ["--payload: none.json cannot be read: No such file or d"]),
        (["schedules", "apply", "none.json"], ["duetime: FILE: none.json cannot be read: No such file or d"]),
        (["move", "j1"], ["duetime: nothing to change: give `run_at`, `delay` or `priority`"]),
    ],
)
def test_what_cannot_be_run_is_told_with_the_way_out(cli: Cli, words: list[str], lines: list[str]) -> None:
    cli("submit", "greet", "--id", "j1", "--delay", "1h")
    said = cli(*words)
    assert said.code == Exit.USAGE and said.out == ""
    for line, told in zip(lines, said.err.splitlines(), strict=True):
        assert line in told
