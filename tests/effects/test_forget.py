"""Forgetting: what is old enough goes, the rest stays, and what went has no guarantee."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from duetime.effects import StaleToken, fenced, forget, once
from tests.effects.conftest import Database


def age(database: Database, engine: Engine, table: str, name: str, hours: int) -> None:
    """Make a row as old as if the database had written it hours ago."""
    column, stamp = ("key", "done_at") if table == "duetime_effects" else ("resource", "updated_at")
    past = (
        f"datetime('now', '-{hours} hours')"
        if database.kind == "sqlite"
        else f"now() - interval '{hours} hours'"
    )
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET {stamp} = {past} WHERE {column} = '{name}'")


@pytest.fixture
def aged(database: Database, engine: Engine) -> Engine:
    """Marks and fences of now, and of an hour less and an hour more than a week ago."""
    with engine.begin() as connection:
        for hours in (0, 167, 169):
            once(connection, key=f"{hours} hours")
            fenced(connection, resource=f"{hours} hours", token=5)
    for hours in (167, 169):
        for table in ("duetime_effects", "duetime_fences"):
            age(database, engine, table, f"{hours} hours", hours)
    return engine


@pytest.mark.parametrize("week", ["7d", "P1W", timedelta(days=7), 604_800])
def test_only_what_is_old_goes(aged: Engine, week: str | timedelta | int) -> None:
    with aged.begin() as connection:
        assert forget(connection, older_than=week) == 2
    with aged.begin() as connection:
        assert [once(connection, key=f"{hours} hours") for hours in (0, 167, 169)] == [False, False, True]
        for hours in (0, 167):
            with pytest.raises(StaleToken):
                fenced(connection, resource=f"{hours} hours", token=4)
        fenced(connection, resource="169 hours", token=4)


def test_a_little_at_a_time(aged: Engine) -> None:
    answers: list[int] = []
    while not answers or answers[-1]:
        with aged.begin() as connection:
            answers.append(forget(connection, older_than="5d", limit=1))
    assert answers == [2, 2, 0]


def test_touching_a_fence_keeps_it(aged: Engine) -> None:
    with aged.begin() as connection:
        fenced(connection, resource="169 hours", token=5)
        assert forget(connection, older_than="7d") == 1
        with pytest.raises(StaleToken):
            fenced(connection, resource="169 hours", token=4)


def test_roll_back_remembers(aged: Engine) -> None:
    with aged.connect() as connection:
        assert forget(connection, older_than="7d") == 2
        connection.rollback()
        assert not once(connection, key="169 hours")


@pytest.mark.parametrize("span", ["0s", "999ms", -1, "1 week", True, None])
def test_bad_spans_are_refused(sqlite_engine: Engine, span: str) -> None:
    with sqlite_engine.begin() as connection, pytest.raises(ValueError, match=r"^older_than: "):
        forget(connection, older_than=span)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None])
def test_bad_limits_are_refused(sqlite_engine: Engine, limit: int) -> None:
    with sqlite_engine.begin() as connection, pytest.raises(ValueError, match=r"^limit: "):
        forget(connection, older_than="7d", limit=limit)
