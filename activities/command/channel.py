"""What worker and supervisor say to each other, over one socket.

1. worker → supervisor: the `Order`, one line of JSON. The worker keeps its side open: when it closes it, or
   dies in any way, the command is to be stopped.
2. supervisor → worker: the `Ending`, one line, then the kept bytes of standard output and of standard error.

Standard library only, and little of it, because the supervisor starts anew for every command: named tuples,
since `dataclasses` alone takes as long to import as everything else here together.
"""

import json
from typing import NamedTuple

#: Longest line, in bytes: an order with a payload of 256 KiB in which every character is escaped.
LONGEST_LINE = 4 * 1024 * 1024


class Order(NamedTuple):
    """What to run.

    `linger` is how long what it left in the background may go on, `grace` the time between SIGTERM and
    SIGKILL, both in seconds; `kept` is how many bytes of each stream are kept.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    stdin: str | None
    linger: float
    grace: float
    kept: int


class Ending(NamedTuple):
    """How it ended: `exit_code`, or the `signal` that killed it, or why it could not be started (`failure`).

    `left` is the number of processes that could not be ended. `stdout_total` and `stderr_total` count
    everything that was written, `stdout_kept` and `stderr_kept` what follows this line.
    """

    exit_code: int | None = None
    signal: int | None = None
    failure: str | None = None
    left: int = 0
    stdout_total: int = 0
    stderr_total: int = 0
    stdout_kept: int = 0
    stderr_kept: int = 0


def to_line(message: Order | Ending) -> bytes:
    return json.dumps(message._asdict()).encode() + b"\n"


def order_from(line: bytes) -> Order:
    return Order(**json.loads(line))


def ending_from(line: bytes) -> Ending:
    return Ending(**json.loads(line))
