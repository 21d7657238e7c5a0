"""The thread on which leases are kept: what is to begin later begins once, in time, or not at all."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from duetime.runtime.keeper import Keeper
from tests.support.waiting import eventually


class Looked(Keeper):
    """Counts how often it looked at what waits."""

    times = 0

    def _look(self) -> None:
        self.times += 1
        super()._look()


@pytest.fixture
async def keeper() -> AsyncIterator[Looked]:
    keeper = Looked()
    keeper.start()
    yield keeper
    await keeper.stop()


async def test_each_begins_in_its_turn_whatever_came_first(keeper: Looked) -> None:
    begun: list[str] = []

    def begins(name: str, seconds: float) -> None:
        async def work() -> None:
            assert asyncio.get_running_loop() is keeper.loop
            begun.append(name)

        keeper.run_later(seconds, work)

    for name, seconds in {"last": 0.3, "first": 0.0, "middle": 0.15}.items():
        begins(name, seconds)
    await eventually(lambda: len(begun) == 3)
    assert begun == ["first", "middle", "last"]


async def test_what_is_cancelled_in_time_never_begins(keeper: Looked) -> None:
    begun: list[str] = []

    async def work(name: str) -> None:
        begun.append(name)

    keeper.run_later(0.1, lambda: work("cancelled")).cancel()
    keeper.run_later(0.2, lambda: work("kept"))
    await eventually(lambda: bool(begun))
    assert begun == ["kept"]


async def test_what_has_begun_can_still_be_cancelled(keeper: Looked) -> None:
    heard: list[str] = []

    async def work() -> None:
        heard.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")

    later = keeper.run_later(0.0, work)
    await eventually(lambda: heard == ["begun"])
    later.cancel()
    await eventually(lambda: heard == ["begun", "cancelled"])


async def test_many_that_end_before_they_begin_do_not_wake_it(keeper: Looked) -> None:
    async def work() -> None:
        raise AssertionError

    first = keeper.run_later(60.0, work)
    for _ in range(1000):
        keeper.run_later(60.0, work).cancel()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def last() -> None:
        loop.call_soon_threadsafe(begun.set)

    keeper.run_later(0.0, last)
    await begun.wait()
    assert keeper.times == 2, "for the first and for the last"
    first.cancel()
