"""Real zombies: another process, stopped at the worst moments and woken when it is too late."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from duetime.effects import StaleToken, fenced, once, prepare
from tests.effects.accounts import sign, writer
from tests.effects.checks import until_not_locked
from tests.effects.conftest import Database, with_ledger
from tests.effects.puppet import Puppet, puppet


@pytest.fixture
def zombie(database: Database, engine: Engine) -> Iterator[Puppet]:
    with puppet(database.url) as process:
        yield process


def attempt(engine: Engine, token: int, *, key: str = "k") -> bool:
    """The current attempt: fence, mark, effect; was it the first to have the effect?"""
    with engine.begin() as connection:
        fenced(connection, resource="r", token=token)
        first = once(connection, key=key)
        sign(connection, "current")
        return first


def test_frozen_before_its_fence(engine: Engine, zombie: Puppet) -> None:
    """It holds nothing, so no one waits for it; when it wakes, it is refused."""
    assert zombie.do("fence 1", "commit") == ["fenced", "committed"]
    zombie.freeze()
    zombie.order("fence 1")
    assert attempt(engine, token=2)
    zombie.thaw()
    assert zombie.answer() == "stale"
    assert writer(engine) == "current"


def test_frozen_with_the_lock_on_postgresql(postgresql: Database) -> None:
    """With the settings of `prepare` the server ends its session, and its commit comes to nothing."""
    engine = with_ledger(postgresql)
    current = prepare(postgresql.engine())
    with puppet(postgresql.url, idle_timeout="2s") as zombie:
        assert zombie.do("fence 1", "mark k", "sign zombie") == ["fenced", "first", "signed"]
        zombie.freeze()
        assert attempt(current, token=2), "the zombie's mark must have been rolled back"
        zombie.thaw()
        assert zombie.do("commit")[0].endswith("Error")
    assert writer(engine) == "current"


def test_waiting_for_a_frozen_process_ends(database: Database, engine: Engine, zombie: Puppet) -> None:
    """Where nothing ends the zombie's session, the wait for it ends, and order holds when it goes on.

    So it is on SQLite always, and on PostgreSQL while the zombie's own engine was not prepared.
    """
    current = database.impatient()
    assert zombie.do("fence 1", "sign zombie") == ["fenced", "signed"]
    zombie.freeze()
    with pytest.raises(OperationalError, match="lock"):
        attempt(current, token=2)
    zombie.thaw()
    assert zombie.do("commit") == ["committed"]
    assert attempt(current, token=2)
    assert writer(engine) == "current"
    with pytest.raises(StaleToken):
        attempt(current, token=1)


def test_killed_with_the_lock(database: Database, engine: Engine, zombie: Puppet) -> None:
    """A process that dies takes its transaction along: neither its mark nor its effect is there."""
    assert zombie.do("fence 1", "mark k", "sign zombie") == ["fenced", "first", "signed"]
    zombie.kill()
    until_not_locked(lambda: attempt(database.impatient(), token=2), on_locked=lambda: None)
    with engine.begin() as connection:
        assert not once(connection, key="k")
    assert writer(engine) == "current"


def test_killed_after_its_commit(engine: Engine, zombie: Puppet) -> None:
    """The effect is there although its attempt never reported it: the next attempt does not repeat it."""
    assert zombie.do("fence 1", "mark k", "sign zombie", "commit")[-1] == "committed"
    zombie.kill()
    assert not attempt(engine, token=2)
