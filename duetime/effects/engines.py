"""Settings under which a frozen process cannot hold up the others for ever."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, event

from duetime.contracts.duration import Duration
from duetime.effects.bounds import checked_span
from duetime.effects.dialects import is_sqlite

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    AnyEngine = TypeVar("AnyEngine", Engine, AsyncEngine)

_MILLISECOND = timedelta(milliseconds=1)


def prepare(
    engine: AnyEngine, *, idle_timeout: Duration = "30s", lock_timeout: Duration = "45s"
) -> AnyEngine:
    """Set up a new engine for the ledger, before its first connection; answers the same engine.

    PostgreSQL: each session gets `idle_in_transaction_session_timeout = idle_timeout` (a transaction whose
    client says nothing for so long is rolled back by the server, its session ended) and `lock_timeout`.
    Behind a pooler that shares sessions, set the two on the role instead: `ALTER ROLE ... SET ...`.

    SQLite: every transaction begins with BEGIN IMMEDIATE, which takes the write lock at once, so that it
    cannot fail half-way because another one wrote in between, and so that savepoints nest. Waiting for the
    lock ends after `lock_timeout`; there is no `idle_timeout`. The engine's readers queue up as well: read
    through another engine. Leave the driver's `autocommit` argument at its default.

    `idle_timeout` is best the lease of the jobs that write, 30 seconds unless set otherwise: no attempt
    then finds its predecessor still in the way. `lock_timeout` must be longer, or a waiter gives up before
    a frozen holder does.
    """
    if not isinstance(getattr(engine, "sync_engine", engine), Engine):
        raise TypeError(f"engine: must be a SQLAlchemy Engine or AsyncEngine, not {type(engine).__name__}")
    idle, lock = _millis("idle_timeout", idle_timeout), _millis("lock_timeout", lock_timeout)
    if lock <= idle:
        raise ValueError(
            "lock_timeout: must be longer than idle_timeout, or waiting ends before a frozen holder does"
        )
    target: Engine = engine if isinstance(engine, Engine) else engine.sync_engine
    if is_sqlite(target.dialect):
        event.listen(target, "connect", _sqlite_session(lock))
        event.listen(target, "begin", _begin_immediate)
    else:
        event.listen(target, "connect", _postgresql_session(idle, lock))
    return engine


def _millis(field: str, value: Duration) -> int:
    # To both databases 0 means "for ever", and the most is a signed 32-bit number of milliseconds.
    span = checked_span(field, value, shortest=_MILLISECOND, longest=timedelta(days=24))
    return span // _MILLISECOND


def _postgresql_session(idle: int, lock: int) -> Any:
    def on_connect(dbapi_connection: Any, _record: object) -> None:
        # Outside of a transaction: a SET within one is undone by its roll-back.
        before, dbapi_connection.autocommit = dbapi_connection.autocommit, True
        cursor = dbapi_connection.cursor()
        cursor.execute(f"SET idle_in_transaction_session_timeout = {idle}")
        cursor.execute(f"SET lock_timeout = {lock}")
        cursor.close()
        dbapi_connection.autocommit = before

    return on_connect


def _sqlite_session(lock: int) -> Any:
    def on_connect(dbapi_connection: Any, _record: object) -> None:
        cursor = dbapi_connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {lock}")
        cursor.close()

    return on_connect


def _begin_immediate(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
        return
    dbapi_connection: Any = connection.connection.dbapi_connection
    if dbapi_connection.isolation_level is not None:
        dbapi_connection.isolation_level = None  # from here on BEGIN is ours, not the driver's
    connection.exec_driver_sql("BEGIN IMMEDIATE")
