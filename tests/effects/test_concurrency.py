"""Transactions that really run at the same time, on connections and threads of their own.

On PostgreSQL the tests see in the server's own lock table that the second one waits. SQLite cannot be asked:
there they see that without patience it is refused.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Event
from typing import Any

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from duetime.effects import StaleToken, fenced, forget, once, prepare, recall, remember
from tests.effects.accounts import pay, sign, writer
from tests.effects.checks import check_a_zombie_cannot_write_last, check_one_of_many
from tests.effects.conftest import Database, with_ledger
from tests.support.postgres import PATIENCE


class Second:
    """A second transaction in a thread of its own; on PostgreSQL it is known to wait when this returns."""

    def __init__(self, database: Database, engine: Engine, work: Callable[[Connection], Any]) -> None:
        self._pool = ThreadPoolExecutor(1)
        begun: Future[Connection] = Future()

        def run() -> Any:
            with engine.begin() as connection:
                begun.set_result(connection)
                return work(connection)

        self._outcome = self._pool.submit(run)
        database.wait_until_blocked(begun.result(PATIENCE))

    def result(self) -> Any:
        with self._pool:
            return self._outcome.result(PATIENCE)


def claim(token: int, name: str) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        fenced(connection, resource="r", token=token)
        sign(connection, name)

    return work


def test_one_of_many(engine: Engine) -> None:
    check_one_of_many(engine, once)


def test_one_of_many_with_prepared_engines(database: Database, engine: Engine) -> None:
    check_one_of_many(prepare(database.engine()), once)


def test_a_zombie_cannot_write_last(database: Database, engine: Engine) -> None:
    check_a_zombie_cannot_write_last(database, fenced)


@pytest.mark.parametrize(("first_ends", "second_is_first"), [("commit", False), ("rollback", True)])
def test_second_with_the_same_key_waits_for_the_first(
    database: Database, engine: Engine, first_ends: str, second_is_first: bool
) -> None:
    with engine.connect() as first:
        assert once(first, key="k")
        second = Second(database, database.engine(), lambda connection: once(connection, key="k"))
        getattr(first, first_ends)()
    assert second.result() is second_is_first


def test_second_finds_the_first_ones_result(database: Database, engine: Engine) -> None:
    def work(connection: Connection) -> object:
        assert not once(connection, key="k")
        return recall(connection, key="k")

    with engine.connect() as first:
        once(first, key="k")
        remember(first, key="k", result={"charge": "ch_1"})
        second = Second(database, database.engine(), work)
        first.commit()
    assert second.result() == {"charge": "ch_1"}


def test_rolled_back_savepoint_lets_the_second_go_on(postgresql: Database) -> None:
    engine = with_ledger(postgresql)
    with engine.begin() as first:
        savepoint = first.begin_nested()
        assert once(first, key="k")
        second = Second(postgresql, postgresql.engine(), lambda connection: once(connection, key="k"))
        savepoint.rollback()
        assert second.result() is True
        assert once(first, key="k") is False


def test_newer_attempt_waits_for_a_zombie_that_was_first(database: Database, engine: Engine) -> None:
    with engine.connect() as zombie:
        claim(1, "zombie")(zombie)
        current = Second(database, database.engine(), claim(2, "current"))
        zombie.commit()
    current.result()
    assert writer(engine) == "current"


def test_zombie_waits_for_the_newer_attempt_and_is_refused(database: Database, engine: Engine) -> None:
    with engine.connect() as current:
        claim(2, "current")(current)
        zombie = Second(database, database.engine(), claim(1, "zombie"))
        current.commit()
    with pytest.raises(StaleToken) as caught:
        zombie.result()
    assert (caught.value.token, caught.value.seen) == (1, 2)
    assert writer(engine) == "current"


def test_zombie_passes_when_the_newer_attempt_took_everything_back(
    database: Database, engine: Engine
) -> None:
    with engine.connect() as current:
        claim(2, "current")(current)
        zombie = Second(database, database.engine(), claim(1, "zombie"))
        current.rollback()
    zombie.result()
    assert writer(engine) == "zombie"


def test_zombie_whose_transaction_began_before_the_newer_attempt(database: Database, engine: Engine) -> None:
    with engine.connect() as zombie:
        zombie.begin()
        writer(engine)
        with database.engine().begin() as current:
            claim(2, "current")(current)
        with pytest.raises(StaleToken):
            claim(1, "zombie")(zombie)


def test_attempts_in_any_order_end_with_the_newest(database: Database, engine: Engine) -> None:
    attempts = 6
    barrier = Barrier(attempts)

    def attempt(token: int) -> None:
        barrier.wait(PATIENCE)
        with suppress(StaleToken), engine.begin() as connection:
            claim(token, str(token))(connection)

    with ThreadPoolExecutor(attempts) as pool:
        list(pool.map(attempt, range(attempts)))
    assert writer(engine) == str(attempts - 1)


def test_sqlite_holds_the_lock_from_the_fence_on(sqlite: Database) -> None:
    engine = with_ledger(sqlite)
    impatient = sqlite.impatient()
    with engine.connect() as first:
        fenced(first, resource="r", token=1)
        with pytest.raises(OperationalError, match="locked"), impatient.begin() as second:
            fenced(second, resource="r", token=2)
        with pytest.raises(OperationalError, match="locked"), impatient.begin() as second:
            once(second, key="k")
        first.commit()
    with impatient.begin() as second:
        fenced(second, resource="r", token=2)


def test_fence_of_another_resource_does_not_wait(postgresql: Database) -> None:
    engine = with_ledger(postgresql)
    with engine.begin() as first, engine.begin() as second:
        fenced(first, resource="r", token=2)
        once(first, key="k")
        fenced(second, resource="another", token=1)
        assert once(second, key="another")


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("act", ["fence a new resource", "fence a known one", "mark"])
def test_stricter_isolation_refuses_rather_than_errs(postgresql: Database, level: str, act: str) -> None:
    """A serialisation failure: the database wants the whole transaction again, and then it sees the truth."""
    engine = with_ledger(postgresql)
    if act == "fence a known one":
        with engine.begin() as connection:
            fenced(connection, resource="r", token=0)
    strict = postgresql.engine(isolation_level=level)

    def second(connection: Connection) -> object:
        if act == "mark":
            return once(connection, key="k")
        fenced(connection, resource="r", token=2)
        return False

    with engine.connect() as first:
        fenced(first, resource="r", token=1)
        once(first, key="k")
        waiting = Second(postgresql, strict, second)
        first.commit()
    with pytest.raises(OperationalError) as caught:
        waiting.result()
    assert getattr(caught.value.orig, "sqlstate", None) == "40001"
    with strict.begin() as connection:
        assert not second(connection)


def test_fence_that_is_moved_is_not_forgotten(postgresql: Database) -> None:
    engine = with_ledger(postgresql)
    with engine.begin() as connection:
        fenced(connection, resource="r", token=5)
        connection.exec_driver_sql("UPDATE duetime_fences SET updated_at = now() - interval '9 days'")
    with engine.connect() as attempt:
        fenced(attempt, resource="r", token=6)
        pruning = Second(
            postgresql, postgresql.engine(), lambda connection: forget(connection, older_than="7d")
        )
        attempt.commit()
    assert pruning.result() == 0
    with engine.begin() as zombie, pytest.raises(StaleToken):
        fenced(zombie, resource="r", token=5)


def test_sqlite_that_reads_first_needs_a_prepared_engine(sqlite: Database) -> None:
    """A deferred transaction that read cannot write once another one has: SQLite says so, without waiting."""
    engine = with_ledger(sqlite)
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    with engine.connect() as plain:
        plain.exec_driver_sql("BEGIN")
        writer_of(plain)
        with sqlite.engine().begin() as other:
            pay(other)
        with pytest.raises(OperationalError, match="locked"):
            fenced(plain, resource="r", token=1)

    read, prepared = Event(), prepare(sqlite.engine())
    with ThreadPoolExecutor(1) as pool:

        def other_writes() -> None:
            assert read.wait(PATIENCE)
            with prepare(sqlite.engine()).begin() as other:
                pay(other)

        outcome = pool.submit(other_writes)
        with prepared.begin() as connection:
            writer_of(connection)
            read.set()
            fenced(connection, resource="r", token=1)
        outcome.result(PATIENCE)


def writer_of(connection: Connection) -> str:
    return str(connection.exec_driver_sql("SELECT writer FROM accounts").scalar_one())
