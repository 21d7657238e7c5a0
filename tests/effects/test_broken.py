"""The tests of the tests: ledgers that are broken in the likely ways must not get past the checks."""

import pytest
from sqlalchemy import Connection, Engine

from duetime.effects import StaleToken, once
from duetime.effects.dialects import insert_into
from duetime.effects.schema import FENCES
from tests.effects.checks import check_a_zombie_cannot_write_last, check_mark_and_effect_stay_together
from tests.effects.conftest import Database


def once_apart(connection: Connection, *, key: str) -> bool:
    """Broken: marks in a transaction of its own."""
    with connection.engine.begin() as another:
        return once(another, key=key)


def once_never(connection: Connection, *, key: str) -> bool:
    """Broken: marks nothing."""
    return True


def fenced_by_reading(connection: Connection, *, resource: str, token: int) -> None:
    """Broken: looks and then writes, without a lock in between."""
    seen = connection.execute(FENCES.select().where(FENCES.c.resource == resource)).one_or_none()
    if seen and seen.token > token:
        raise StaleToken(resource, token, seen.token)


def fenced_apart(connection: Connection, *, resource: str, token: int) -> None:
    """Broken: compares and sets, but in a transaction of its own."""
    with connection.engine.begin() as another:
        claim = insert_into(another, FENCES).values(resource=resource, token=token)
        another.execute(claim.on_conflict_do_update(index_elements=["resource"], set_={"token": token}))


@pytest.mark.parametrize("broken", [once_apart, once_never])
def test_broken_marks_are_noticed(engine: Engine, broken: object) -> None:
    with pytest.raises(AssertionError):
        check_mark_and_effect_stay_together(engine, broken)  # type: ignore[arg-type]


@pytest.mark.parametrize("broken", [fenced_by_reading, fenced_apart])
def test_broken_fences_are_noticed(database: Database, engine: Engine, broken: object) -> None:
    with pytest.raises(AssertionError, match="the zombie wrote last"):
        check_a_zombie_cannot_write_last(database, broken)  # type: ignore[arg-type]
