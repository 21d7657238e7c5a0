"""What is a transaction to the ledger, and the clear refusals of what is none."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from duetime.effects import (
    NoSchema,
    NoTransaction,
    create_schema,
    fenced,
    forget,
    once,
    prepare,
    recall,
    remember,
)
from tests.effects.accounts import balance, pay
from tests.effects.conftest import Database, with_ledger

CALLS: dict[str, Callable[[Connection], object]] = {
    "fenced": lambda connection: fenced(connection, resource="r", token=1),
    "once": lambda connection: once(connection, key="k"),
    "remember": lambda connection: remember(connection, key="k", result=1),
    "recall": lambda connection: recall(connection, key="k"),
    "forget": lambda connection: forget(connection, older_than="7d"),
    "create_schema": create_schema,
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def is_unmarked(engine: Engine) -> bool:
    with engine.begin() as connection:
        return once(connection, key="k")


@every_call
def test_autocommit_is_refused(engine: Engine, call: Callable[[Connection], object]) -> None:
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(NoTransaction, match=r"autocommit mode.*ordinary isolation level"),
    ):
        call(connection)
    assert is_unmarked(engine)


def test_autocommit_engine_is_refused(database: Database, engine: Engine) -> None:
    with (
        database.engine(isolation_level="AUTOCOMMIT").begin() as connection,
        pytest.raises(NoTransaction, match="autocommit mode"),
    ):
        once(connection, key="k")
    assert is_unmarked(engine)


def test_autocommit_of_a_prepared_engine_is_refused(database: Database, engine: Engine) -> None:
    prepared = prepare(database.engine())
    with (
        prepared.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(NoTransaction, match="autocommit mode"),
    ):
        once(connection, key="k")
    # The same pooled connection, back to normal.
    with prepared.connect() as connection, connection.begin():
        with connection.begin_nested():
            assert once(connection, key="k")
        connection.rollback()
    assert is_unmarked(engine)


def test_a_begin_of_ones_own_is_a_transaction(sqlite: Database) -> None:
    """SQLAlchemy's recipe for SQLite: the driver in autocommit mode, BEGIN by an event."""
    engine = with_ledger(sqlite)
    own = sqlite.engine()
    event.listen(own, "connect", lambda dbapi, _: setattr(dbapi, "isolation_level", None))
    event.listen(own, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with own.begin() as connection:
        with connection.begin_nested():
            assert once(connection, key="k")
            pay(connection)
        connection.rollback()
        assert balance(engine) == 0
    assert is_unmarked(engine)


def test_savepoint_that_would_commit_by_itself_is_refused(sqlite: Database) -> None:
    engine = with_ledger(sqlite)
    with engine.begin() as connection:
        with connection.begin_nested(), pytest.raises(NoTransaction, match=r"prepare\(engine\)"):
            once(connection, key="k")
        assert once(connection, key="k")


@every_call
def test_closed_connection(engine: Engine, call: Callable[[Connection], object]) -> None:
    connection = engine.connect()
    connection.close()
    with pytest.raises(NoTransaction, match=r"is over.*closed"):
        call(connection)


@every_call
@pytest.mark.parametrize("ended", ["commit", "rollback"])
def test_transaction_that_is_over(engine: Engine, call: Callable[[Connection], object], ended: str) -> None:
    with engine.begin() as connection:
        getattr(connection, ended)()
        with pytest.raises(NoTransaction, match="is over"):
            call(connection)
    assert is_unmarked(engine)


def test_lost_connection(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.begin()
        connection.invalidate()
        with pytest.raises(NoTransaction, match="is over"):
            once(connection, key="k")


@every_call
def test_failed_transaction(postgresql: Database, call: Callable[[Connection], object]) -> None:
    with with_ledger(postgresql).connect() as connection:
        with pytest.raises(DBAPIError):
            connection.exec_driver_sql("SELECT 1 / 0")
        with pytest.raises((NoTransaction, DBAPIError), match=r"roll back|aborted") as caught:
            call(connection)
        connection.rollback()
        assert once(connection, key="k")
    assert caught.type is NoTransaction or call is create_schema


@pytest.mark.parametrize("name", ["fenced", "once", "remember", "recall", "forget"])
def test_missing_tables(database: Database, name: str) -> None:
    with (
        database.engine().begin() as connection,
        pytest.raises(NoSchema, match=r"create_schema\(engine\)"),
    ):
        CALLS[name](connection)


def test_missing_table_of_another_is_not_ours(engine: Engine) -> None:
    with engine.connect() as connection, pytest.raises(DBAPIError):
        connection.exec_driver_sql("SELECT 1 FROM nowhere")


@every_call
@pytest.mark.parametrize("wrong", [None, Session(), object()], ids=["none", "session", "object"])
def test_what_is_no_connection(call: Callable[[Connection], object], wrong: Connection) -> None:
    with pytest.raises(TypeError, match=r"^connection: .*session\.connection\(\)"):
        call(wrong)
