"""What the end of a command means for its job: a pure function of the request and the ending."""

import signal

from activities.command.channel import Ending
from activities.command.request import CommandRequest
from activities.text import tail

#: How much of the output goes into the error's message, in bytes.
SHOWN_OF_STDERR = 2048
SHOWN_OF_STDOUT = 1024


class CommandFailed(Exception):
    """The command did not start, did not end, was killed, or ended with a code that is not a success."""


def conclude(request: CommandRequest, ending: Ending, stdout: bytes, stderr: bytes) -> dict[str, object]:
    """The job's result; `CommandFailed` with the end of the output when it did not succeed.

    `exit_code`, `stdout` and `stderr` (the last 64 KiB, as text), `stdout_bytes` and `stderr_bytes`
    (everything that was written), `truncated` (whether either text is not everything).
    """
    trouble = _trouble(request, ending)
    if trouble:
        raise CommandFailed(
            trouble + _shown("stderr", stderr, SHOWN_OF_STDERR) + _shown("stdout", stdout, SHOWN_OF_STDOUT)
        )
    out = tail(stdout, cut=ending.stdout_total > len(stdout))
    err = tail(stderr, cut=ending.stderr_total > len(stderr))
    return {
        "exit_code": ending.exit_code,
        "stdout": out.text,
        "stderr": err.text,
        "stdout_bytes": ending.stdout_total,
        "stderr_bytes": ending.stderr_total,
        "truncated": out.truncated or err.truncated,
    }


def _trouble(request: CommandRequest, ending: Ending) -> str | None:
    if ending.failure is not None:
        return ending.failure
    if ending.signal is not None:
        return f"killed by {_signal_name(ending.signal)}"
    if ending.exit_code in request.success_exit_codes:
        return None
    # What shells mean by these two: POSIX.1-2024, Shell Command Language, 2.8.2.
    hints = (
        {126: " (found but not executable)", 127: " (command not found)"} if request.shell is not None else {}
    )
    return f"exit code {ending.exit_code}{hints.get(ending.exit_code or 0, '')}"


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def _shown(name: str, data: bytes, room: int) -> str:
    text = tail(data[-room:], cut=len(data) > room).text.strip()
    return f"\n{name}: {'…' if len(data) > room else ''}{text}" if text else ""
