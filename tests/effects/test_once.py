"""Marks, one transaction after the other; together they are tried in test_concurrency.py."""

import math
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.orm import Session

from duetime.effects import AlreadyRemembered, NotDone, once, prepare, recall, remember
from tests.effects.accounts import balance, pay
from tests.effects.checks import check_mark_and_effect_stay_together
from tests.effects.conftest import Database


def test_first_time_only(engine: Engine) -> None:
    with engine.begin() as connection:
        assert once(connection, key="k") is True
    with engine.begin() as connection:
        assert once(connection, key="k") is False
        assert once(connection, key="another") is True


def test_first_time_only_within_one_transaction(engine: Engine) -> None:
    with engine.begin() as connection:
        assert [once(connection, key="k") for _ in range(3)] == [True, False, False]


def test_mark_and_effect_stay_together(engine: Engine) -> None:
    check_mark_and_effect_stay_together(engine, once)


def test_commit_as_you_go(engine: Engine) -> None:
    with engine.connect() as connection:
        assert once(connection, key="k")
        pay(connection)
        connection.rollback()
        assert once(connection, key="k")
        pay(connection)
        connection.commit()
        assert not once(connection, key="k")
    assert balance(engine) == 1


def test_keys_are_compared_exactly(engine: Engine) -> None:
    keys = ["é", "e\N{COMBINING ACUTE ACCENT}", "E", "e", " e", "e ", "%", "_", "'; --", "😀", "😀" * 512]
    with engine.begin() as connection:
        assert all(once(connection, key=key) for key in keys)
    with engine.begin() as connection:
        assert not any(once(connection, key=key) for key in keys)


def test_one_statement(engine: Engine) -> None:
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    for expected in (True, False):
        with engine.begin() as connection:
            assert once(connection, key="k") is expected
    assert len(statements) == 2


@pytest.mark.parametrize("outcome", ["released", "rolled back"])
def test_savepoints(database: Database, engine: Engine, outcome: str) -> None:
    prepared = prepare(database.engine())
    with prepared.begin() as connection:
        savepoint = connection.begin_nested()
        assert once(connection, key="k")
        pay(connection)
        savepoint.commit() if outcome == "released" else savepoint.rollback()
        assert once(connection, key="k") is (outcome == "rolled back")
    with prepared.begin() as connection:
        assert not once(connection, key="k")
    assert balance(engine) == (1 if outcome == "released" else 0)


def test_savepoint_falls_with_the_transaction_around_it(database: Database, engine: Engine) -> None:
    prepared = prepare(database.engine())
    with prepared.connect() as connection:
        with connection.begin() as transaction:
            with connection.begin_nested():
                assert once(connection, key="k")
                pay(connection)
            transaction.rollback()
        assert once(connection, key="k")
    assert balance(engine) == 0


def test_orm_session(engine: Engine) -> None:
    with Session(engine) as session:
        assert once(session.connection(), key="k")
        session.rollback()
        assert once(session.connection(), key="k")
        session.commit()
        assert not once(session.connection(), key="k")


@pytest.mark.parametrize(
    "result",
    [
        None,
        False,
        0,
        "",
        [],
        {},
        {"b": [1, 2.5, None, True], "a": {"é": "😀"}},
        "a\u0000b",
        "\\u0000",
        "\ud800",
        2**70,
        "x" * 200_000,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_result_comes_back(engine: Engine, result: Any) -> None:
    with engine.begin() as connection:
        assert once(connection, key="k")
        assert remember(connection, key="k", result=result) == result
    with engine.begin() as connection:
        assert not once(connection, key="k")
        found = recall(connection, key="k")
    assert found == result and type(found) is type(result)


def test_first_run_and_repetition_see_the_same(engine: Engine) -> None:
    with engine.begin() as connection:
        once(connection, key="k")
        first = remember(connection, key="k", result={"pair": (1, 2), 3: "three"})  # type: ignore[dict-item]
    with engine.begin() as connection:
        assert recall(connection, key="k") == first == {"pair": [1, 2], "3": "three"}


def test_result_is_forgotten_with_its_mark(engine: Engine) -> None:
    with engine.connect() as connection:
        once(connection, key="k")
        remember(connection, key="k", result=1)
        connection.rollback()
        with pytest.raises(NotDone):
            recall(connection, key="k")


def test_nothing_remembered_is_none(engine: Engine) -> None:
    with engine.begin() as connection:
        once(connection, key="k")
        assert recall(connection, key="k") is None


@pytest.mark.parametrize("first", [None, {"charge": "ch_1"}])
def test_the_first_result_stays(engine: Engine, first: Any) -> None:
    with engine.begin() as connection:
        once(connection, key="k")
        remember(connection, key="k", result=first)
    with engine.begin() as connection, pytest.raises(AlreadyRemembered, match="'k'"):
        remember(connection, key="k", result="second")
    with engine.begin() as connection:
        assert recall(connection, key="k") == first


def test_no_result_without_a_mark(engine: Engine) -> None:
    with engine.begin() as connection:
        with pytest.raises(NotDone, match=r"'k'.*once\(\) first"):
            remember(connection, key="k", result=1)
        with pytest.raises(LookupError):
            recall(connection, key="k")
        assert once(connection, key="k")


def circle() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    "result",
    [object(), {1, 2}, b"bytes", math.nan, math.inf, circle(), {(1, 2): 3}, "x" * 262_143, "é" * 50_000],
    ids=["object", "set", "bytes", "nan", "infinity", "circle", "tuple key", "too long", "too long in JSON"],
)
def test_a_bad_result_is_refused_before_the_database_sees_it(sqlite_engine: Engine, result: Any) -> None:
    with sqlite_engine.begin() as connection:
        once(connection, key="k")
        with pytest.raises(ValueError, match=r"^result: "):
            remember(connection, key="k", result=result)
        assert remember(connection, key="k", result="x" * 262_142) is not None


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (None, TypeError, "string"),
        (b"k", TypeError, "string"),
        ("", ValueError, "1 to 512"),
        ("x" * 513, ValueError, "1 to 512"),
        ("a\0b", ValueError, "U\\+0000"),
        ("\ud800", ValueError, "surrogate"),
    ],
)
def test_a_bad_key_is_refused_by_name(
    sqlite_engine: Engine, key: str, error: type[Exception], message: str
) -> None:
    def refused(connection: Connection) -> None:
        with pytest.raises(error, match=f"^key: .*{message}"):
            once(connection, key=key)
        with pytest.raises(error, match=f"^key: .*{message}"):
            remember(connection, key=key, result=1)
        with pytest.raises(error, match=f"^key: .*{message}"):
            recall(connection, key=key)

    with sqlite_engine.begin() as connection:
        refused(connection)
        assert once(connection, key="the transaction is still good")
