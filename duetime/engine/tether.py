"""Bind a program's life to the process that starts it: it dies when its parent dies, however that happens.

Run as `python -I -S tether.py PARENT_PID PROGRAM ARGUMENT…`, a stub that asks the kernel for SIGKILL at the
death of its parent (`PR_SET_PDEATHSIG`, prctl(2), kept over execve(2)) and then becomes PROGRAM, under the
same pid. A stub and not `preexec_fn`, because running Python between fork and exec is unsafe in a process
with threads. "Parent" means the *thread* that forked: start tethered programs from a thread that lives as
long as they should.

Linux alone has this; elsewhere `tethered` changes nothing, and a parent killed with SIGKILL leaves its
children.
"""

import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def tethered(argv: list[str]) -> list[str]:
    """The command that runs `argv` bound to this process."""
    if not sys.platform.startswith("linux"):
        return argv
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *argv]


def _main(parent: int, argv: list[str]) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # It died before we asked.
        os._exit(1)
    os.execvp(argv[0], argv)  # noqa: S606


if __name__ == "__main__":
    try:
        _main(int(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.exit(f"cannot start {sys.argv[2]}: {error.strerror}")
