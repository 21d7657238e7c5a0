"""What is shown: nothing that others wrote steers a terminal, and everything fits."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from duetime import JobView, State
from duetime.cli.exits import BY_ERROR, BY_STATE, Exit, code_of, lines_of
from duetime.cli.main import hoist
from duetime.cli.show import columns_for, console, show_job, show_jobs
from duetime.cli.text import ago, as_json, safe
from duetime.contracts.problem import ProblemView
from duetime.contracts.states import FINAL
from duetime.errors import BY_NAME, BY_STATUS, DuetimeError, api_error
from tests.client.test_errors import CLASSES
from tests.client.test_repeating import JOB

EVIL = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe\u2066 [bold]x[/bold] \r\n\tend"


def job(**changes: object) -> JobView:
    return JobView.model_validate({**JOB, **changes})


def page(view: JobView, **options: object) -> str:
    out = Console(file=io.StringIO(), highlight=False, markup=False, emoji=False, **options)  # type: ignore[arg-type]
    show_job(view, out)
    show_jobs([view], out)
    return out.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_steers_a_terminal(text: str) -> None:
    assert all(sign.isprintable() or sign == "\u00ad" or ord(sign) > 0x9F for sign in safe(text))
    assert not set(safe(text)) & set("\x1b\x07\x9b\r\n\t\u202e\u2066\u200f")


@given(st.recursive(st.none() | st.text() | st.integers(), st.lists) | st.dictionaries(st.text(), st.text()))
def test_json_says_the_same_whatever_is_escaped(value: object) -> None:
    for encoding in ("utf-8", "latin-1", "ascii"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        text = as_json(value, stream=stream)
        assert json.loads(text) == value
        text.encode(encoding if encoding != "latin-1" else "ascii")
        assert not set(text) & set("\x1b\x07\x9b\r\t\u202e")


def test_what_others_wrote_is_shown_as_text() -> None:
    error = {"type": "E\x1b[1m", "message": EVIL, "stack": f"line one\n{EVIL}"}
    attempt = {"number": 1, "outcome": "failed", "error": error}
    shown = page(
        job(kind=EVIL, tags=[EVIL], state="failed", payload={EVIL: EVIL}, error=error, attempts=[attempt]),
        width=200,
    )
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[31mred" in shown
    assert "[bold]x[/bold]" in shown


def test_colour_is_for_terminals_and_never_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    for settings, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        out = Terminal()
        show_jobs([job(state="failed")], console(out))
        assert ("\x1b[31m" in out.getvalue()) is coloured
    out = io.StringIO()
    show_jobs([job(state="failed")], console(out))
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 300])
def test_a_list_fits_its_terminal(width: int) -> None:
    columns = [column.title for column in columns_for(width)]
    assert columns[:2] == ["ID", "STATE"]
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    show_jobs([job(id="01m8nfzv1nxsvjjrqgj8d0rdev", tags=["a" * 30]), job(id="x" * 200)], out)
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= width
    assert "".join(line[:width].split()[0] if line.split() else "" for line in lines).count("x") >= min(
        200, width
    )


def test_nothing_is_cut_in_a_pipe() -> None:
    out = io.StringIO()
    show_jobs([job(id="x" * 200, tags=["y" * 64] * 3)], console(out))
    assert "x" * 200 in out.getvalue()
    assert "y" * 64 in out.getvalue()
    assert len(out.getvalue().splitlines()) == 2


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=-59), "59s ago"),
        (timedelta(minutes=5, seconds=7), "in 5m7s"),
        (timedelta(hours=-3, minutes=-7, seconds=-9), "3h7m ago"),
        (timedelta(days=400, hours=5, minutes=3), "in 400d5h"),
    ],
)
def test_how_long_ago(span: timedelta, text: str) -> None:
    now = datetime(2027, 1, 15, tzinfo=UTC)
    assert ago(now + span, now) == text


def test_the_exit_codes_are_these() -> None:
    assert {code.name: code.value for code in Exit} == {
        "OK": 0,
        "JOB_FAILED": 1,
        "USAGE": 2,
        "NOT_FOUND": 3,
        "CONFLICT": 4,
        "UNAVAILABLE": 5,
        "AUTH": 6,
        "WAIT_TIMEOUT": 7,
        "JOB_CANCELLED": 8,
        "JOB_EXPIRED": 9,
        "JOB_SKIPPED": 10,
        "INTERNAL": 70,
        "INTERRUPTED": 130,
        "BROKEN_PIPE": 141,
    }
    assert set(BY_STATE) == FINAL


def test_every_error_has_an_exit_code_and_a_sentence() -> None:
    errors = [api_error(ProblemView(status=status, detail="x")) for status in BY_STATUS]
    errors += [found(ProblemView(status=409, detail="x")) for found in BY_NAME.values()]
    for error in errors:
        assert code_of(error) is not Exit.INTERNAL
        assert lines_of(error)[0]
    assert code_of(api_error(ProblemView(status=500))) is Exit.INTERNAL
    covered = tuple(kind for kind, _ in BY_ERROR)
    uncovered = {found.__name__ for found in CLASSES if not issubclass(found, covered)}
    # Outcomes are told by `BY_STATE`; the others are bases.
    assert uncovered == {
        "DuetimeError",
        "ApiError",
        "JobNotSucceeded",
        "JobFailed",
        "JobWasCancelled",
        "JobExpired",
        "JobWasSkipped",
    }
    assert all(issubclass(found, DuetimeError) for found in CLASSES)


def test_options_about_the_api_may_stand_anywhere() -> None:
    assert hoist(["get", "x", "--url", "u", "-o", "json"]) == ["--url", "u", "get", "x", "-o", "json"]
    assert hoist(["get", "x", "--url=u", "--api-key-file", "f"]) == [
        "--url=u",
        "--api-key-file",
        "f",
        "get",
        "x",
    ]
    assert hoist(["get", "--", "--url"]) == ["get", "--", "--url"]
    assert hoist(["get", "--url"]) == ["--url", "get"]


def test_a_state_is_coloured_or_plain_but_always_there() -> None:
    for state in State:
        assert state.value in page(job(state=state), width=100)
