"""The worker's end of a supervisor: start it, hear how the command ended, have it stopped."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

from activities.command.channel import LONGEST_LINE, Ending, Order, ending_from, to_line
from activities.command.environment import GIVEN
from activities.command.family import kill_marked

log = logging.getLogger(__name__)

_ROOT = str(Path(__file__).resolve().parents[2])
#: How long a supervisor may take after the grace, beyond what it promises itself, in seconds.
_SLACK = 10.0

Outcome = tuple[Ending, bytes, bytes]


class Supervised:
    """One running command. Closing the socket, in whatever way, is what stops it."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        order: Order,
    ) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self._order = order
        self._outcome = asyncio.create_task(self._hear())

    @classmethod
    async def start(cls, order: Order) -> "Supervised":
        """`OSError` when the supervisor itself cannot be started."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
            except BaseException:
                ours.close()
                raise
            try:
                process = _spawn(theirs)
            except OSError:
                writer.close()
                raise
        writer.write(to_line(order))
        return cls(process, reader, writer, order)

    async def outcome(self) -> Outcome:
        """How the command ended, and the kept bytes of its standard output and error.

        Cancelled, it has the command stopped and waits until that is done; cancelled once more, it leaves
        that to the supervisor.
        """
        try:
            return await asyncio.shield(self._outcome)
        except asyncio.CancelledError:
            self._writer.write_eof()
            await asyncio.wait({self._outcome}, timeout=self._order.grace + _SLACK)
            raise

    async def _hear(self) -> Outcome:
        try:
            ending = ending_from(await self._reader.readuntil())
            stdout = await self._reader.readexactly(ending.stdout_kept)
            stderr = await self._reader.readexactly(ending.stderr_kept)
        except (asyncio.IncompleteReadError, ConnectionError):
            mark = [f"{name}={self._order.env[name]}".encode() for name in GIVEN]
            await asyncio.to_thread(kill_marked, mark)
            ending, stdout, stderr = Ending(failure="its supervisor ended unexpectedly"), b"", b""
        finally:
            self._writer.close()
            await asyncio.to_thread(self._process.wait)
        if ending.left:
            log.warning("job %s: %d processes could not be ended", self._order.env[GIVEN[0]], ending.left)
        return ending, stdout, stderr


def _spawn(channel: socket.socket) -> "subprocess.Popen[bytes]":
    """A session of its own, so that Ctrl-C at the worker's terminal reaches it through the worker alone."""
    return subprocess.Popen(
        [sys.executable, "-S", "-s", "-P", "-m", "activities.command.supervisor"],
        env={"PYTHONPATH": _ROOT, "PYTHONUTF8": "1", "PATH": os.defpath},
        cwd="/",
        stdin=channel.fileno(),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
