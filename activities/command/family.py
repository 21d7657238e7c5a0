"""The processes that come from a command: finding them, signalling them, and knowing when none is left.

The supervisor declares itself the reaper of its descendants (PR_SET_CHILD_SUBREAPER, prctl(2)): a process
whose parent has ended becomes the supervisor's child instead of init's, however often it forked and whatever
session it moved to. Everything that came from the command is therefore below the supervisor, and when the
supervisor has no child left, nothing is left. Where there is no such call (not Linux), the command's process
group is all that can be known.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LAST_WAIT = 5.0
_LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True) if _LINUX else None


def adopt_orphans() -> None:
    """From now on orphaned descendants become children of this process."""
    if _libc is not None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """For a freshly forked child: be killed when `parent` ends, even by SIGKILL.

    A set-user-ID program undoes it.
    """
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)


class Family:
    """A command's process `leader`, which leads its group, and everything below the calling process."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        #: An exit code, or minus the signal that killed the leader; None while it runs.
        self.status: int | None = None

    def reap(self) -> bool:
        """Takes note of those who ended; whether any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not _LINUX and self._group_lives()
            if pid == 0:
                return True
            if pid == self._leader:
                self.status = os.waitstatus_to_exitcode(status)

    def send(self, number: signal.Signals) -> None:
        """Sends `number` to all of them, group by group: of a group, none can fork away from a signal.

        The groups are those that have a member now. That of the leader alone could belong to a stranger: once
        the leader is reaped and its group empty, the system may give its number away.
        """
        groups = {_group_of(pid) for pid in descendants(os.getpid())}
        if self.status is None or not _LINUX:
            groups.add(self._leader)
        for group in groups:
            if group and group != os.getpgrp():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, number)

    def count(self) -> int:
        return len(descendants(os.getpid())) if _LINUX else int(self._group_lives())

    def _group_lives(self) -> bool:
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def kill_marked(mark: Collection[bytes]) -> None:
    """For when there is no reaper: ends all processes that have the variables `mark` (`NAME=value`).

    Blocks until none is left, or for a few seconds. One that took another environment is not found.
    """
    until = time.monotonic() + _LAST_WAIT
    while (found := _marked(set(mark))) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked(mark: set[bytes]) -> list[int]:
    found = []
    for pid in _all_processes():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environ:
            if mark <= set(environ.read().split(b"\0")):
                found.append(pid)
    return found


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def descendants(root: int) -> list[int]:
    """All processes below `root`, as far as /proc shows them; it may have changed when it is read."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for pid in _all_processes():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
            # "pid (name) state parent …", where the name may hold parentheses and spaces: proc(5).
            yield pid, int(stat.read().rpartition(b")")[2].split()[1])


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] if _LINUX else []
