"""Runs one command to its end, keeps the end of its output, and leaves nothing of it behind.

A process between the worker and the command, for three things a worker cannot do for itself. It is the reaper
of the command's descendants, and of nobody else's, so it can end every one of them. It outlives the worker:
when the worker dies, by SIGKILL too, its side of the socket closes and the command is stopped. And it reads
what the command writes, so that a flood of output costs the worker neither memory nor time on its event loop.

Started as `python -m activities.command.supervisor` with the socket as standard input; see `channel`.
"""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import IO

from activities.command.channel import Ending, Order, order_from, to_line
from activities.command.family import Family, adopt_orphans, die_with
from activities.command.tail import Tail

_PIECE = 64 * 1024
#: How long processes that were sent SIGKILL may take to go, in seconds. One that sleeps in the kernel takes
#: longer.
_LAST_WAIT = 5.0
_KILL_EVERY = 0.05
#: What may still stand in a pipe when every process that could write is gone (pipe-max-size, pipe(7)).
_PIPE_MOST = 1024 * 1024


def main() -> None:
    channel = socket.socket(fileno=os.dup(0))
    order_line = channel.makefile("rb").readline()
    if not order_line:  # the worker changed its mind
        return
    order = order_from(order_line)
    adopt_orphans()
    try:
        command = _start(order)
    except (OSError, subprocess.SubprocessError) as error:
        _tell(channel, to_line(Ending(failure=_why_not_started(order, error))))
        return
    with _wakeups() as wakeups:
        ending, kept = Supervision(command, channel, wakeups, order).run()
    _tell(channel, to_line(ending) + kept)


def _start(order: Order) -> "subprocess.Popen[bytes]":
    supervisor = os.getpid()
    os.chdir(order.cwd)
    return subprocess.Popen(
        order.argv,
        env=order.env,
        stdin=_stdin(order.stdin),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        # Safe here: this process has one thread.
        preexec_fn=lambda: die_with(supervisor),
    )


def _stdin(text: str | None) -> "int | IO[bytes]":
    """A file rather than a pipe: nobody has to feed it, and a command that never reads it blocks nobody."""
    if text is None:
        return subprocess.DEVNULL
    import tempfile  # seldom needed, and slow to import

    file = tempfile.TemporaryFile()  # noqa: SIM115 - open for the command
    file.write(text.encode())
    file.seek(0)
    return file


def _why_not_started(order: Order, error: Exception) -> str:
    name = order.argv[0][:200]
    match error:
        case FileNotFoundError() | NotADirectoryError() if not os.path.isdir(order.cwd):
            return f"cwd: {order.cwd[:200]!r} is not a directory"
        case PermissionError() if error.filename == order.cwd:
            return f"cwd: {order.cwd[:200]!r} may not be entered"
        case FileNotFoundError() | NotADirectoryError():
            return f"command not found: {name!r}, or the interpreter that its first line names"
        case PermissionError():
            return f"found but not executable: {name!r}"
        case OSError():
            return f"{name!r} could not be started: {error.strerror}"
    return f"{name!r} could not be started: {error}"


@contextlib.contextmanager
def _wakeups() -> Iterator[socket.socket]:
    """A socket that becomes readable when a child ends or when this process is asked to end."""
    read, write = socket.socketpair()
    read.setblocking(False)
    write.setblocking(False)
    signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    yield read


class Supervision:
    """The loop: reads, reaps, and when the command has ended or is to end, ends the rest."""

    def __init__(
        self, command: "subprocess.Popen[bytes]", channel: socket.socket, wakeups: socket.socket, order: Order
    ) -> None:
        if command.stdout is None or command.stderr is None:
            raise TypeError("the command has no pipes")
        self._family = Family(command.pid)
        self._channel, self._wakeups = channel, wakeups
        self._order = order
        self._tails = {command.stdout.fileno(): Tail(order.kept), command.stderr.fileno(): Tail(order.kept)}
        self._pipes = (command.stdout, command.stderr)  # kept open
        self._to_stop = False
        # Points of the monotonic clock; None for what has not happened.
        self._ended_at: float | None = None
        self._terminated_at: float | None = None
        self._killed_at: float | None = None
        self._selector = selectors.DefaultSelector()
        for pipe in self._tails:
            os.set_blocking(pipe, False)
            self._selector.register(pipe, selectors.EVENT_READ)
        self._selector.register(channel, selectors.EVENT_READ)
        self._selector.register(wakeups, selectors.EVENT_READ)

    def run(self) -> tuple[Ending, bytes]:
        """How the command ended, and the kept bytes of both streams. Nobody is left, or `left` says so."""
        while self._family.reap() and not self._given_up():
            self._end_what_is_to_end()
            self._read(self._patience())
        for pipe in self._tails:
            self._drain(pipe)
        out, err = self._tails.values()
        status = self._family.status
        ending = Ending(
            exit_code=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            failure="could not be ended" if status is None else None,
            left=self._family.count(),
            stdout_total=out.total,
            stderr_total=err.total,
            stdout_kept=len(out.bytes()),
            stderr_kept=len(err.bytes()),
        )
        return ending, out.bytes() + err.bytes()

    def _end_what_is_to_end(self) -> None:
        """SIGTERM once, when the command is to stop or what it left behind has lingered long enough; SIGKILL
        after the grace, again and again, for whoever forked meanwhile.
        """
        now = time.monotonic()
        if self._terminated_at is not None:
            if now >= self._terminated_at + self._order.grace:
                self._killed_at = self._killed_at or now
                self._family.send(signal.SIGKILL)
            return
        if self._family.status is not None and self._ended_at is None:
            self._ended_at = now
        if self._to_stop or (self._ended_at is not None and now >= self._ended_at + self._order.linger):
            self._terminated_at = now
            self._family.send(signal.SIGTERM)
            self._family.send(signal.SIGCONT)  # a stopped process would not see the other

    def _given_up(self) -> bool:
        return self._killed_at is not None and time.monotonic() > self._killed_at + _LAST_WAIT

    def _patience(self) -> float | None:
        """How long to wait for something to happen, in seconds."""
        if self._killed_at is not None:
            return _KILL_EVERY
        if self._terminated_at is not None:
            return max(0.0, self._terminated_at + self._order.grace - time.monotonic())
        if self._ended_at is not None:
            return max(0.0, self._ended_at + self._order.linger - time.monotonic())
        return None

    def _read(self, patience: float | None) -> None:
        for key, _ in self._selector.select(patience):
            if key.fileobj is self._channel:
                if not self._channel.recv(_PIECE):
                    self._to_stop = True
                    self._selector.unregister(self._channel)
            elif key.fileobj is self._wakeups:
                self._to_stop |= signal.SIGTERM in self._wakeups.recv(_PIECE)
            elif not self._read_piece(key.fd):
                self._selector.unregister(key.fd)

    def _read_piece(self, pipe: int) -> int:
        """How many bytes there were: 0 at the end of the stream."""
        piece = os.read(pipe, _PIECE)
        self._tails[pipe].append(piece)
        return len(piece)

    def _drain(self, pipe: int) -> None:
        """What is in the pipe, and no more: a stranger to whom the command handed its end may keep it."""
        read = 0
        with contextlib.suppress(BlockingIOError):
            while read < _PIPE_MOST and (length := self._read_piece(pipe)):
                read += length


def _tell(channel: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the worker is gone: nobody to tell
        channel.sendall(message)


if __name__ == "__main__":
    main()
