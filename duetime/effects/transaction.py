"""Every statement of the ledger runs in a transaction that really is one: the caller's."""

from typing import Any

from sqlalchemy import Connection, CursorResult, Executable
from sqlalchemy.exc import DBAPIError, InvalidRequestError

from duetime.effects.dialects import is_sqlite
from duetime.effects.errors import NoSchema, NoTransaction

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_IN_FAILED_TRANSACTION = "25P02"
_UNDEFINED_TABLE = "42P01"


def run(connection: Connection, statement: Executable) -> CursorResult[Any]:
    """Execute one of the ledger's statements in the caller's transaction.

    `NoTransaction` when there is none that would take it along, `NoSchema` when the tables are missing; every
    other error is the database's own (SQLAlchemy's `DBAPIError`).
    """
    require_transaction(connection)
    try:
        # The count of an INSERT is not kept unless asked for.
        return connection.execute(statement, execution_options={"preserve_rowcount": True})
    except InvalidRequestError as error:
        raise _over(error) from error
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None)
        if state == _IN_FAILED_TRANSACTION:
            raise NoTransaction(
                "an earlier statement failed and the transaction with it: roll back"
            ) from error
        if state == _UNDEFINED_TABLE or "no such table: duetime_" in str(error.orig):
            raise NoSchema("the ledger's tables are missing: call create_schema(engine) once") from error
        raise


def require_transaction(connection: Connection) -> None:
    """Begin the connection's transaction if it has not begun, as any statement would; refuse a sham one."""
    require_connection(connection)
    try:
        if not connection.in_transaction():
            connection.begin()
        proxied = connection.connection
    except InvalidRequestError as error:
        raise _over(error) from error
    if is_sqlite(connection.dialect):
        _require_sqlite_transaction(connection, proxied.driver_connection)
    elif connection.dialect.detect_autocommit_setting(proxied.dbapi_connection):  # type: ignore[arg-type]
        raise _autocommit()


def require_connection(connection: object) -> None:
    if not isinstance(connection, Connection):
        raise TypeError(
            f"connection: must be a SQLAlchemy Connection, not {type(connection).__name__} "
            "(from an ORM session: session.connection(); for asyncio: duetime.effects.aio)"
        )


def _require_sqlite_transaction(connection: Connection, driver: Any) -> None:
    """SQLAlchemy leaves BEGIN to Python's driver, which has modes of its own.

    In the usual one it begins before the first INSERT, UPDATE or DELETE, so ours is a good first statement
    (https://docs.python.org/3/library/sqlite3.html#transaction-control). But a SAVEPOINT before any of those
    is the outermost, and its RELEASE commits (https://sqlite.org/lang_savepoint.html).
    """
    #: True and False since Python 3.12; the usual mode has neither.
    autocommit = getattr(driver, "autocommit", None)
    begins_by_itself = driver.isolation_level is not None and autocommit not in (True, False)
    if not driver.in_transaction and not begins_by_itself:
        raise _autocommit()
    if begins_by_itself and connection.in_nested_transaction():
        raise NoTransaction(
            "a savepoint may commit by itself on this SQLite connection, where the driver decides when a "
            "transaction begins: call duetime.effects.prepare(engine) after create_engine()"
        )


def _autocommit() -> NoTransaction:
    return NoTransaction(
        "the connection is in autocommit mode, where the mark and the effect would be committed apart: "
        "give it an ordinary isolation level"
    )


def _over(error: InvalidRequestError) -> NoTransaction:
    return NoTransaction(f"the transaction is over: {error}")
