"""A worker in a process of its own that does what it is told, line by line, and can be frozen in between.

fence TOKEN       begin if need be; answers `fenced`, `stale` or the database's error
mark KEY          answers `first`, `again` or the database's error
sign NAME         the side effect
commit            answers `committed` or the database's error
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Puppet:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def do(self, *orders: str) -> list[str]:
        """Carry out the orders and return an answer to each."""
        for order in orders:
            self.order(order)
        return [self.answer() for _ in orders]

    def order(self, order: str) -> None:
        """Give an order without waiting for its answer."""
        assert self._process.stdin
        print(order, file=self._process.stdin, flush=True)

    def answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def freeze(self) -> None:
        """Stop the process as a suspended machine would; it is stopped when this returns."""
        os.kill(self._process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def puppet(url: str, idle_timeout: str = "") -> Iterator[Puppet]:
    """A puppet on the database; with `idle_timeout`, its engine is prepared."""
    command = [sys.executable, "-m", "tests.effects.puppet", url, idle_timeout]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, cwd=root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Puppet(process)
        finally:
            process.kill()


def main(url: str, idle_timeout: str) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError

    from duetime.effects import StaleToken, fenced, once, prepare
    from tests.effects.accounts import sign

    engine = create_engine(url)
    if idle_timeout:
        prepare(engine, idle_timeout=idle_timeout)
    connection = engine.connect()

    def act(verb: str, argument: str = "") -> str:
        match verb:
            case "fence":
                fenced(connection, resource="r", token=int(argument))
                return "fenced"
            case "mark":
                return "first" if once(connection, key=argument) else "again"
            case "sign":
                sign(connection, argument)
                return "signed"
            case "commit":
                connection.commit()
                return "committed"
        raise ValueError(verb)

    for line in sys.stdin:
        try:
            answer = act(*line.split())
        except StaleToken:
            answer = "stale"
        except DBAPIError as error:
            answer = type(error).__name__
        print(answer, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
