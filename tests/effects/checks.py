"""What the ledger promises, as checks of any `once` and `fenced`: the real and the broken ones."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from tests.effects.accounts import balance, pay, sign, writer
from tests.effects.conftest import Database
from tests.support.postgres import PATIENCE


class Once(Protocol):
    def __call__(self, connection: Connection, *, key: str) -> bool: ...


class Fenced(Protocol):
    def __call__(self, connection: Connection, *, resource: str, token: int) -> None: ...


class Crash(Exception):
    """The worker dies here."""


def pay_once(engine: Engine, once: Once, *, key: str, crash: bool = False) -> bool:
    with engine.begin() as connection:
        if not once(connection, key=key):
            return False
        pay(connection)
        if crash:
            raise Crash
        return True


def check_mark_and_effect_stay_together(engine: Engine, once: Once) -> None:
    """An attempt that dies between mark and commit leaves neither; the next one leaves both."""
    try:
        pay_once(engine, once, key="k", crash=True)
    except Crash:
        assert balance(engine) == 0
    assert pay_once(engine, once, key="k"), "the mark outlived the effect"
    assert not pay_once(engine, once, key="k")
    assert balance(engine) == 1


def check_one_of_many(engine: Engine, once: Once, *, contenders: int = 6, rounds: int = 5) -> None:
    """However many attempts run at the same time, one has the effect."""
    barrier = Barrier(contenders)

    def contend(key: str) -> bool:
        barrier.wait(PATIENCE)
        return pay_once(engine, once, key=key)

    with ThreadPoolExecutor(contenders) as pool:
        for number in range(rounds):
            answers = list(pool.map(contend, [f"k{number}"] * contenders))
            assert sorted(answers) == [False] * (contenders - 1) + [True]
    assert balance(engine) == rounds


def check_a_zombie_cannot_write_last(database: Database, fenced: Fenced) -> None:
    """A zombie stalls between fence and write while the current attempt does all of its work: order holds."""
    zombies, attempts = database.engine(), database.impatient()
    zombie_is_fenced, current_is_done_or_waits = Event(), Event()

    def zombie() -> None:
        with zombies.begin() as connection:
            fenced(connection, resource="r", token=1)
            zombie_is_fenced.set()
            assert current_is_done_or_waits.wait(PATIENCE)
            sign(connection, "zombie")

    def current() -> None:
        assert zombie_is_fenced.wait(PATIENCE)
        until_not_locked(lambda: _work(attempts, fenced), current_is_done_or_waits.set)
        current_is_done_or_waits.set()

    with ThreadPoolExecutor(2) as pool:
        for outcome in [pool.submit(zombie), pool.submit(current)]:
            outcome.result()
    assert writer(attempts) == "current", "the zombie wrote last"


def until_not_locked(work: Callable[[], object], on_locked: Callable[[], None]) -> None:
    """Repeat `work` while its engine is told, without waiting, that someone else holds the lock."""
    while True:
        try:
            work()
            return
        except OperationalError as error:
            if "locked" not in str(error) and getattr(error.orig, "sqlstate", "") != "55P03":
                raise
            on_locked()


def _work(engine: Engine, fenced: Fenced) -> None:
    with engine.begin() as connection:
        fenced(connection, resource="r", token=2)
        sign(connection, "current")
