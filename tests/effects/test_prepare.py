"""The settings that `prepare` gives an engine, as the databases themselves report them."""

import pytest
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import OperationalError

from duetime.effects import fenced, prepare
from duetime.effects.dialects import is_sqlite
from tests.effects.conftest import Database, with_ledger


def test_postgresql_session(postgresql: Database) -> None:
    engine = prepare(postgresql.engine(), idle_timeout="20s", lock_timeout="30s")
    for _ in range(2):
        with engine.connect() as connection:
            assert connection.exec_driver_sql("SHOW lock_timeout").scalar_one() == "30s"
            idle = "SHOW idle_in_transaction_session_timeout"
            assert connection.exec_driver_sql(idle).scalar_one() == "20s"
            connection.rollback()
            assert connection.exec_driver_sql(idle).scalar_one() == "20s"


async def test_postgresql_session_on_asyncio(postgresql: Database) -> None:
    engine = postgresql.async_engine()
    async with prepare(engine).connect() as connection:
        assert (await connection.exec_driver_sql("SHOW lock_timeout")).scalar_one() == "45s"
    await engine.dispose()


def test_sqlite_session(sqlite: Database) -> None:
    with prepare(sqlite.engine()).connect() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 45_000


def test_sqlite_transactions_take_the_lock_at_once(sqlite: Database) -> None:
    with_ledger(sqlite)
    with (
        prepare(sqlite.engine()).begin(),
        sqlite.impatient().begin() as other,
        pytest.raises(OperationalError, match="locked"),
    ):
        fenced(other, resource="r", token=1)


def test_sqlite_engine_is_usable_after_it_could_not_begin(sqlite: Database) -> None:
    with_ledger(sqlite)
    prepared = prepare(sqlite.engine(), idle_timeout="1ms", lock_timeout="2ms")
    with sqlite.engine().begin() as other:
        fenced(other, resource="r", token=1)
        for _ in range(2):
            with pytest.raises(OperationalError, match="locked"):
                prepared.connect().begin()
    with prepared.begin() as connection:
        fenced(connection, resource="r", token=1)


def test_bad_settings_are_refused_by_name(sqlite: Database) -> None:
    engine = sqlite.engine()
    with pytest.raises(ValueError, match=r"^idle_timeout: .*0\.001s"):
        prepare(engine, idle_timeout=0)
    with pytest.raises(ValueError, match=r"^lock_timeout: not a duration"):
        prepare(engine, lock_timeout="soon")
    with pytest.raises(ValueError, match=r"^lock_timeout: .*24d"):
        prepare(engine, lock_timeout="30d")
    with pytest.raises(ValueError, match=r"^lock_timeout: must be longer than idle_timeout"):
        prepare(engine, idle_timeout="45s")


def test_other_databases_are_refused() -> None:
    with pytest.raises(TypeError, match="PostgreSQL and SQLite, not on mysql"):
        is_sqlite(mysql.dialect())


def test_what_is_no_engine(sqlite: Database) -> None:
    with sqlite.engine().connect() as connection, pytest.raises(TypeError, match=r"^engine: "):
        prepare(connection)  # type: ignore[type-var]
