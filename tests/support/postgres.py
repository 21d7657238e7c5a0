"""A real PostgreSQL server for the tests: Debian's packages, a throw-away cluster, a free port on loopback.

The server refuses to run as root, so root starts it as the packages' user `postgres` (or `nobody`). It dies
with the test process, even a killed one. Where PostgreSQL is not installed its tests are skipped,
except under CI=true.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from pwd import getpwnam
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import psycopg

#: How long any fact may take to come true on a busy machine, in seconds: a bound for hanging, not for speed.
PATIENCE = 60


@dataclass
class PostgresServer:
    port: int
    password: str
    home: Path
    _process: subprocess.Popen[bytes]
    _names: Iterator[int] = field(default_factory=count)

    @property
    def url(self) -> str:
        """SQLAlchemy's address of the server; `psycopg` serves synchronous and asyncio engines alike."""
        return f"postgresql+psycopg://postgres:{self.password}@127.0.0.1:{self.port}/postgres"

    def crash(self) -> None:
        """End it at once and without a goodbye, as a crash of the program would."""
        self._stop(signal.SIGQUIT)

    def start_again(self) -> None:
        """After a crash, on the same port and data."""
        self._process, _ = _start(self.home, self.port)

    def close(self) -> None:
        self._stop(signal.SIGINT)  # "fast" shutdown: sessions are ended, not waited for

    def _stop(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def create_schema(self) -> str:
        """An empty schema of a new name: first in the search path, it is as good as an empty database."""
        name = f"test_{next(self._names)}"
        with self._admin() as admin:
            admin.execute(f"CREATE SCHEMA {name}")
        return name

    def wait_until_blocked(self, backend_pid: int) -> None:
        """Return when the session is waiting for a lock that another one holds."""
        with self._admin() as admin:
            waits = "SELECT 1 WHERE cardinality(pg_blocking_pids(%s)) > 0"
            eventually(
                lambda: admin.execute(waits, (backend_pid,)).fetchone(),
                f"session {backend_pid} waits for a lock",
            )

    def _admin(self) -> psycopg.Connection:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            password=self.password,
            dbname="postgres",
            autocommit=True,
        )


def eventually(fact: Callable[[], object], what: str) -> None:
    """Return when `fact` is true; fail when it does not become so."""
    end = time.monotonic() + PATIENCE
    while not fact():
        if time.monotonic() > end:
            raise AssertionError(f"did not come true within {PATIENCE} s: {what}")
        time.sleep(0.005)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    skip_without_postgres()
    with running_postgres() as server:
        yield server


def skip_without_postgres() -> None:
    """Skips the test where there is no PostgreSQL; fails it in CI."""
    missing = _what_is_missing()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"CI must run the PostgreSQL tests, but {missing}")
    if missing:
        pytest.skip(f"no PostgreSQL server here: {missing}")


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    home = Path(tempfile.mkdtemp(prefix="duetime-postgres-"))
    password = secrets.token_hex(16)
    try:
        _new_cluster(home, password)
        process, port = _start(home)
        server = PostgresServer(port, password, home, process)
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _new_cluster(home: Path, password: str) -> None:
    initdb, data, password_file = _binary("initdb"), home / "data", home / "password"
    password_file.write_text(password)
    if user := _server_user():
        for path in (home, password_file):
            os.chown(path, getpwnam(user).pw_uid, getpwnam(user).pw_gid)
    options = ["--username=postgres", "--auth=scram-sha-256", f"--pwfile={password_file}", "--no-sync"]
    options += ["--encoding=UTF8", "--no-locale"]
    subprocess.run(
        [*_as_server_user(), str(initdb), *options, str(data)],
        check=True,
        capture_output=True,
        cwd=home,
    )


def _start(home: Path, port: int | None = None) -> tuple[subprocess.Popen[bytes], int]:
    data, log = home / "data", home / "log"
    for _ in range(5):
        listen = port or _free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": listen,
            "unix_socket_directories": "",
            "fsync": "off",
            "full_page_writes": "off",
            "shared_buffers": "16MB",
            "max_connections": 60,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*_as_server_user(), str(_binary("postgres")), "-D", str(data), *options],
                stdout=output,
                stderr=output,
                cwd=home,
            )
        eventually(lambda: process.poll() is not None or _is_ready(log), "PostgreSQL starts")  # noqa: B023
        if process.poll() is None:
            return process, listen
        # Someone else took the port in between: try another one.
        if b"could not bind" not in log.read_bytes():
            break
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text(errors='replace')[-2000:]}")


def _is_ready(log: Path) -> bool:
    return b"database system is ready to accept connections" in log.read_bytes()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _as_server_user() -> list[str]:
    """The words before the server's command that make it run as its user and end with its parent."""
    words = ["setpriv", "--pdeathsig", "INT"]
    if user := _server_user():
        words += [f"--reuid={user}", f"--regid={getpwnam(user).pw_gid}", "--clear-groups"]
    return [*words, "--"]


def _server_user() -> str | None:
    """Whom root must become; anyone else stays who they are."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        getpwnam("postgres")
        return "postgres"
    return "nobody"


def _binary(name: str) -> Path | None:
    """A server program: Debian keeps them out of PATH, one directory for each version."""
    places = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]), reverse=True
    )
    if found := shutil.which(name):
        places.append(Path(found))
    return places[0] if places else None


def _what_is_missing() -> str | None:
    if find_spec("psycopg") is None:
        return "the driver psycopg is not installed (pip install 'duetime[postgres]')"
    if shutil.which("setpriv") is None:
        return "setpriv (util-linux) is not installed"
    if _binary("initdb") is None or _binary("postgres") is None:
        return "initdb and postgres are not installed (Debian: apt-get install postgresql)"
    return None
