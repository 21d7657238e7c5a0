import sys

import pytest

from duetime.engine.child import Child, describe_exit
from duetime.engine.console import Console
from duetime.engine.logs import readable
from tests.engine.programs import eventually


async def test_its_last_words_are_there_when_it_has_ended() -> None:
    lines: list[str] = []
    child = Child("it", [sys.executable, "-c", "print('one'); print('two'); exit(3)"], on_line=lines.append)
    assert await child.wait() == child.exit_code == 3
    assert child.last_words == lines == ["one", "two"]
    assert await child.stop(0) == 3, "stopping what has ended is no error"


async def test_one_that_will_not_go_is_killed_with_its_group() -> None:
    """Its own child holds the output open, and must not hold us."""
    program = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; print('there', flush=True); time.sleep(600)"])
signal.pause()
"""
    child = Child("it", [sys.executable, "-c", program])
    await eventually(lambda: "there" in child.last_words)
    assert await child.stop(0.05) == -9
    await eventually(lambda: not child._reader.is_alive())  # Its pipe is closed: the grandchild is gone too.


async def test_bytes_of_any_kind_come_through() -> None:
    program = r"import sys; sys.stdout.buffer.write(b'a\xff\n' + b'x' * 200_000 + b'\nlast')"
    child = Child("it", [sys.executable, "-c", program])
    await child.wait()
    assert child.last_words[0] == "a\N{REPLACEMENT CHARACTER}"
    assert child.last_words[-1] == "last"
    assert sum(line.count("x") for line in child.last_words) == 200_000


async def test_a_program_that_is_not_there_says_so() -> None:
    child = Child("it", ["/nowhere/program"])
    assert await child.wait() != 0
    assert child.last_words == ["cannot start /nowhere/program: No such file or directory"]


@pytest.mark.parametrize(
    ("code", "text"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "signal SIGKILL"), (-63, "signal 63")],
)
def test_ends_are_described(code: int, text: str) -> None:
    assert describe_exit(code) == text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            '{"level": "WARN", "msg": "slow", "error": "disk\\nfull", "shard-id": 1}',
            "WARN slow (error=disk full)",
        ),
        ('{"level": "ERROR", "msg": "down"}', "ERROR down"),
        ('{"no": "message"}', '{"no": "message"}'),
        ("Error: invalid flag", "Error: invalid flag"),
        ("[1]", "[1]"),
        ("", ""),
    ],
)
def test_the_servers_lines_are_readable(line: str, text: str) -> None:
    assert readable(line) == text


def test_a_very_long_line_is_cut() -> None:
    assert len(readable('{"level": "WARN", "msg": "' + "x" * 10_000 + '"}')) == 400


class _Terminal:
    def __init__(self, *, tty: bool) -> None:
        self.tty, self.text = tty, ""

    def isatty(self) -> bool:
        return self.tty

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("tty", "environ", "coloured"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(tty: bool, environ: dict[str, str], coloured: bool) -> None:
    terminal = _Terminal(tty=tty)
    Console(terminal, environ).line("api", "ready")  # type: ignore[arg-type]
    assert terminal.text.endswith(" ready\n")
    assert ("\033[" in terminal.text) is coloured
