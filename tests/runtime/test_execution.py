"""Running a handler's function so that it can be stopped and nothing of it escapes."""

import asyncio
import threading
import time
from typing import Any

import pytest

from duetime.runtime.execution import (
    End,
    Execution,
    JobCancelled,
    LoopExecution,
    Raised,
    Returned,
    ThreadExecution,
    end_of,
)
from tests.support.waiting import eventually


async def ended(execution: Execution) -> End:
    await asyncio.wait([execution.future])
    return end_of(execution)


def in_thread(call: Any) -> ThreadExecution:
    return ThreadExecution(call, "test")


def on_loop(call: Any) -> LoopExecution:
    async def run() -> Any:
        await asyncio.sleep(0)
        return call()

    return LoopExecution(run())


def raises(error: BaseException) -> Any:
    def call() -> None:
        raise error

    return call


@pytest.mark.parametrize("start", [in_thread, on_loop])
async def test_what_a_handler_returns_or_raises(start: Any) -> None:
    assert await ended(start(lambda: 5)) == Returned(5)
    for error in (
        ValueError(),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
    ):
        assert await ended(start(raises(error))) == Raised(error)


async def test_a_thread_is_stopped_at_its_next_step() -> None:
    began = threading.Event()

    def loop_for_ever() -> None:
        began.set()
        while True:
            time.sleep(0.001)

    execution = in_thread(loop_for_ever)
    await asyncio.to_thread(began.wait)
    execution.stop()
    end = await ended(execution)
    assert isinstance(end, Raised) and isinstance(end.error, JobCancelled)


async def test_a_thread_may_clean_up_and_even_finish() -> None:
    began, cleaned = threading.Event(), threading.Event()

    def stubborn() -> str:
        try:
            began.set()
            while True:
                time.sleep(0.001)
        except JobCancelled:
            cleaned.set()
            return "done all the same"

    execution = in_thread(stubborn)
    await asyncio.to_thread(began.wait)
    execution.stop()
    assert await ended(execution) == Returned("done all the same")
    assert cleaned.is_set()


async def test_stopping_after_the_end_reaches_nobody() -> None:
    execution = in_thread(lambda: 1)
    assert await ended(execution) == Returned(1)
    execution.stop()
    assert await ended(in_thread(lambda: sum(range(10_000)))) == Returned(49_995_000)


async def test_stops_that_race_with_the_end_are_never_lost_in_between() -> None:
    """However a stop falls, the handler's end arrives, and the thread ends."""
    for number in range(300):
        execution = in_thread(lambda: sum(range(200)))
        if number % 3:
            await asyncio.sleep(0)
        execution.stop()
        execution.stop()
        end = await asyncio.wait_for(ended(execution), 10)
        assert end == Returned(19_900) or (isinstance(end, Raised) and isinstance(end.error, JobCancelled))
    await eventually(lambda: not any(thread.name == "test" for thread in threading.enumerate()))


async def test_a_coroutine_stopped_before_its_first_step_never_began() -> None:
    began: list[int] = []

    async def run() -> None:
        began.append(1)

    execution = LoopExecution(run())
    execution.stop()
    end = await ended(execution)
    assert isinstance(end, Raised) and isinstance(end.error, asyncio.CancelledError)
    assert not began


async def test_a_handler_that_blocks_does_not_keep_the_process() -> None:
    release = threading.Event()
    execution = in_thread(release.wait)
    execution.stop()
    assert execution._thread.daemon
    release.set()
    await ended(execution)
