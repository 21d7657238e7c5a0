"""A child process of ours: its output by lines, its last words, its end, and a sure way to end it.

Threads read the pipe and wait for the end, so a child neither depends on an event loop (a fixture may
outlive one) nor stalls on a full pipe while the loop is busy.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from duetime.engine.tether import tethered

_LAST_WORDS = 20
#: A child that writes without ever ending a line is cut here.
_LONGEST_LINE = 64 * 1024


class Child:
    """A running program, bound to this process and in a process group of its own.

    Its own group keeps a terminal's Ctrl-C from it: who started it decides when and in which order things
    end.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] = lambda line: None,
        readable: Callable[[str], str] = str,
        keep_open: Sequence[int] = (),
        umask: int = -1,
        errors_only: bool = False,
    ) -> None:
        """Start `argv`.

        `on_line` is called from a thread with each line of its output, made `readable` and without the end;
        with `errors_only` of its standard error alone. `env` replaces the environment, `keep_open` are
        descriptors it inherits, `umask` is that of umask(2), -1 ours.
        """
        self.name = name
        self._on_line = on_line
        self._readable = readable
        self._tail: deque[str] = deque(maxlen=_LAST_WORDS)
        self._process = subprocess.Popen(
            tethered(list(argv)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if errors_only else subprocess.PIPE,
            stderr=subprocess.PIPE if errors_only else subprocess.STDOUT,
            env=None if env is None else dict(env),
            pass_fds=tuple(keep_open),
            umask=umask,
            process_group=0,
        )
        self._ended: concurrent.futures.Future[int] = concurrent.futures.Future()
        self._ended.set_running_or_notify_cancel()  # Nobody who waits can cancel it for the others.
        output = self._process.stderr if errors_only else self._process.stdout
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()
        threading.Thread(target=self._await_end, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return not self._ended.done()

    @property
    def exit_code(self) -> int | None:
        """As of `subprocess`: negative for a signal; `None` while it runs."""
        return self._ended.result() if self._ended.done() else None

    @property
    def last_words(self) -> list[str]:
        """The last lines it wrote."""
        return list(self._tail)

    async def wait(self) -> int:
        """Its exit code, once it has ended and its output has been read."""
        return await asyncio.wrap_future(self._ended)

    async def stop(self, grace: float) -> int:
        """Ask it to end (SIGTERM), and end its whole group after `grace` seconds; its exit code."""
        self.signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.wait()
        return await self.kill()

    async def kill(self) -> int:
        """SIGKILL to it and whatever it left in its group; its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return await self.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it alone, unless it has ended."""
        if self.running:
            self._process.send_signal(number)

    def _read(self, output: IO[bytes]) -> None:
        with output:
            while line := output.readline(_LONGEST_LINE):
                text = self._readable(line.decode(errors="replace").rstrip())
                self._tail.append(text)
                self._on_line(text)

    def _await_end(self) -> None:
        code = self._process.wait()
        # A grandchild may hold the pipe for ever; the last words of the child itself are there at once.
        self._reader.join(timeout=1)
        self._ended.set_result(code)


def describe_exit(code: int) -> str:
    """`"exit code 3"`, or `"signal SIGKILL"` for a negative one."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
