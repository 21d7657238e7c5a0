"""What waits for news ends when it is cancelled, at whatever moment: also in the one when the news comes."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode

from duetime.runtime.counters import Counters
from duetime.runtime.delivery import Delivery
from duetime.runtime.watch import LoopWatch


async def cancelled_with_the_news(task: "asyncio.Task[Any]", news: Callable[[], None]) -> None:
    news()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=10)
    assert done, "it goes on as if nobody had cancelled it"
    with pytest.raises(asyncio.CancelledError):
        task.result()


async def test_the_watch_over_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duetime.runtime.watch._EVERY", 0)
    watch = LoopWatch(lambda: (), Counters())
    asked: asyncio.Future[Callable[[], None]] = asyncio.get_running_loop().create_future()

    class Watched:
        def call_soon_threadsafe(self, answer: Callable[..., None], answered: Callable[[], None]) -> None:
            if not asked.done():
                asked.set_result(answered)

    monkeypatch.setattr(watch, "_loop", Watched())
    task = asyncio.create_task(watch.watch())
    answered = await asked
    await asyncio.sleep(0)
    await cancelled_with_the_news(task, answered)


async def test_a_delivery_that_pauses() -> None:
    ending = asyncio.Event()

    async def say(limit: timedelta) -> None:
        raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")

    delivery = Delivery("job", say, Counters(), ending)
    assert await delivery.try_once() is None
    task = asyncio.create_task(delivery.go_on())
    await asyncio.sleep(0)
    await cancelled_with_the_news(task, ending.set)
