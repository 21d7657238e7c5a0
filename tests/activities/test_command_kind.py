"""The kind `command` with real processes: what a command is given, what is kept of it, how its job ends."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.command.kind import CommandKind
from activities.command.request import CommandRequest
from activities.command.verdict import CommandFailed
from activities.text import KEPT_BYTES
from tests.activities.support import FakeJob


async def run(
    job: FakeJob | None = None, /, *, shell_path: str = "/bin/sh", **payload: Any
) -> dict[str, Any]:
    kind = CommandKind(grace=timedelta(milliseconds=200), shell=shell_path)
    return await kind.run(CommandRequest.model_validate(payload), job or FakeJob())


async def failure(**payload: Any) -> str:
    with pytest.raises(CommandFailed) as failed:
        await run(**payload)
    return str(failed.value)


async def test_it_is_given_a_clean_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUETIME_API_KEYS", "secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    given = await run(argv=["env"], env={"MINE": "a b\n"})
    names = {line.split("=")[0] for line in given["stdout"].splitlines() if "=" in line}
    assert names - {"TZ", "TMPDIR"} == {"PATH", "HOME", "LANG", "MINE"} | {
        f"DUETIME_{name}" for name in ("JOB_ID", "ATTEMPT", "FENCING_TOKEN", "IDEMPOTENCY_KEY")
    }
    assert "secret" not in given["stdout"]
    assert (await run(argv=["pwd"]))["stdout"] == f"{tmp_path}\n"
    assert (await run(argv=["pwd"], cwd="/usr"))["stdout"] == "/usr\n"
    assert (await run(shell="ls /proc/$$/fd"))["stdout"].split() == ["0", "1", "2"]
    # Its own session and process group, and the signals a Python parent ignores are not ignored.
    assert (await run(shell='set -- $(cat /proc/$$/stat); [ "$5 $6" = "$$ $$" ]'))["exit_code"] == 0
    ignored = int((await run(argv=["grep", "SigIgn", "/proc/self/status"]))["stdout"].split()[1], 16)
    # 32 and 33 are the C library's own: make's children inherit them ignored, and no program can set them.
    assert ignored & ~(1 << 31 | 1 << 32) == 0


@pytest.mark.parametrize(
    "word",
    [
        "; rm -rf $HOME",
        "$(id)",
        "`id`",
        "a\nb",
        "-n",
        "--",
        "*",
        "~",
        "$HOME",
        "'\"",
        "a\\b",
        "",
        "é€😀",
        "|cat",
        ">x",
    ],
)
async def test_no_shell_reads_argv(word: str) -> None:
    result = await run(
        argv=[sys.executable, "-c", "import sys; sys.stdout.write(sys.argv[1])", word],
        env={"PYTHONUTF8": "1"},
    )
    assert result["stdout"] == word


async def test_a_line_for_the_shell_is_read_by_the_shell() -> None:
    assert (await run(shell="X=$((1+2)); echo $X | cat; echo two"))["stdout"] == "3\ntwo\n"
    assert "-x" in await failure(shell="-x --version")


@pytest.mark.parametrize(("stdin", "length"), [(None, 0), ("", 0), ("é\n", 3), ("a" * 250_000, 250_000)])
async def test_it_reads_its_standard_input_to_the_end(stdin: str | None, length: int) -> None:
    assert (await run(argv=["wc", "-c"], stdin=stdin))["stdout"].strip() == str(length)


async def test_input_that_nobody_reads_is_no_trouble() -> None:
    assert (await run(argv=["true"], stdin="a" * 250_000))["exit_code"] == 0


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"shell": "exit 1"}, "exit code 1"),
        ({"shell": "exit 126"}, "exit code 126 (found but not executable)"),
        ({"shell": "no-such-command"}, "exit code 127 (command not found)"),
        ({"shell": "exit 137"}, "exit code 137"),
        ({"shell": "exit 255"}, "exit code 255"),
        ({"shell": "kill -SEGV $$"}, "killed by SIGSEGV (signal 11)"),
        ({"shell": "kill -KILL $$"}, "killed by SIGKILL (signal 9)"),
        ({"shell": "kill -TERM $$"}, "killed by SIGTERM (signal 15)"),
        ({"shell": "true", "success_exit_codes": [1, 2]}, "exit code 0"),
        ({"argv": ["no-such-command"]}, "command not found: 'no-such-command'"),
        ({"argv": ["/no/such/command"]}, "command not found: '/no/such/command'"),
        ({"argv": ["/etc/passwd/x"]}, "command not found: '/etc/passwd/x'"),
        ({"argv": ["/etc/passwd"]}, "found but not executable: '/etc/passwd'"),
        ({"argv": ["true"], "cwd": "/no/such/place"}, "cwd: '/no/such/place' is not a directory"),
        ({"argv": ["true"], "cwd": "/etc/passwd"}, "cwd: '/etc/passwd' is not a directory"),
        ({"argv": ["echo", "a" * 200_000]}, "Argument list too long"),
        ({"shell": "true", "shell_path": "/no/shell"}, "command not found: '/no/shell'"),
    ],
)
async def test_the_end_is_told_as_it_was(payload: dict[str, Any], says: str) -> None:
    assert says in await failure(**payload)


async def test_a_script_with_a_wrong_first_line_says_so(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert "interpreter" in await failure(argv=[str(script)])
    script.write_bytes(b"\x7fELF broken")
    assert "Exec format error" in await failure(argv=[str(script)])


async def test_other_codes_can_be_successes() -> None:
    assert (await run(shell="exit 3", success_exit_codes=[0, 3]))["exit_code"] == 3


async def test_a_failure_shows_the_end_of_the_output() -> None:
    text = await failure(shell="seq 100000; seq 100000 >&2; echo why >&2; exit 4")
    assert text.startswith("exit code 4\nstderr: …")
    assert "why\nstdout: …" in text
    assert len(text.encode()) < 4096


@pytest.mark.parametrize(
    ("shell", "stdout"),
    [
        (r"printf '\377\376\342\202'", "\ufffd\ufffd\ufffd"),
        (r"printf 'caf\351\n'", "caf\ufffd\n"),
        (r"printf 'a\000b'", "a\x00b"),
        (r"printf 'a\r\n\033[1mb'", "a\r\n\x1b[1mb"),
        (r"printf '%065535d\342\202\254\n' 0 | tail -c 5", "0€\n"),
        (
            r"head -c 65535 /dev/zero | tr '\0' a; printf '\342'; sleep 0.05; printf '\202\254\n'",
            "a" * 65_532 + "€\n",
        ),
    ],
)
async def test_the_bytes_are_no_reason_to_fail(shell: str, stdout: str) -> None:
    assert (await run(shell=shell))["stdout"] == stdout


async def test_the_cut_falls_between_characters() -> None:
    result = await run(
        argv=[sys.executable, "-c", "print('😀' * 20_000 + 'a', end='')"], env={"PYTHONUTF8": "1"}
    )
    assert result["stdout"] == "😀" * (KEPT_BYTES // 4 - 1) + "a"
    assert (result["stdout_bytes"], result["truncated"]) == (80_001, True)


@pytest.mark.parametrize("bytes_", [10_000_000, 100_000_000])
async def test_a_flood_on_one_stream_blocks_nothing(bytes_: int) -> None:
    result = await run(shell=f"head -c {bytes_} /dev/zero | tr '\\0' x >&2; echo done")
    assert (result["stdout"], result["stdout_bytes"]) == ("done\n", 5)
    assert (result["stderr"], result["stderr_bytes"]) == ("x" * KEPT_BYTES, bytes_)
    assert result["truncated"] is True


async def test_memory_that_the_system_denies_fails_the_command_alone() -> None:
    line = f"ulimit -v 200000; exec {sys.executable} -S -c 'bytearray(1 << 30)'"
    assert "MemoryError" in await failure(shell=line)
