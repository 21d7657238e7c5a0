"""Many listeners, one poll: the hub over a reader that does what the test says."""

import asyncio
from typing import Any, cast

import pytest
from temporalio.service import RPCError, RPCStatusCode

from api.jobs.hub import Hub, Pace
from api.jobs.reading import Reader
from api.problems import Problem, unavailable
from duetime.contracts.events import KEEP_ALIVE, OPENING
from duetime.contracts.states import State
from duetime.contracts.view import JobView, ProgressView
from tests.listing.test_moments import job, parse

_QUICK = Pace(poll=0.01, keep_alive=30.0)
_PATIENCE = 20


class _Reader:
    """Stands in for the one that reads executions."""

    def __init__(self) -> None:
        self.now: JobView | Exception = job()
        self.reads = 0
        self.has_read = asyncio.Condition()
        self.gate = asyncio.Event()
        self.gate.set()

    async def job(self, job_id: str) -> JobView:
        await self.gate.wait()
        self.reads += 1
        async with self.has_read:
            self.has_read.notify_all()
        if isinstance(self.now, Exception):
            raise self.now
        return self.now.model_copy(update={"id": job_id})

    async def read_again(self, times: int = 2) -> None:
        """Returns when the job was read so often from now on."""
        wanted = self.reads + times
        async with asyncio.timeout(_PATIENCE), self.has_read:
            await self.has_read.wait_for(lambda: self.reads >= wanted)


@pytest.fixture
def reader() -> _Reader:
    return _Reader()


def over(reader: _Reader, pace: Pace = _QUICK) -> Hub:
    return Hub(cast(Reader, reader), pace)


async def told(events: Any) -> dict[str, str]:
    async with asyncio.timeout(_PATIENCE):
        return parse(await anext(events))


async def ended(events: Any) -> None:
    async with asyncio.timeout(_PATIENCE):
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_any_number_of_listeners_cost_one_poll(reader: _Reader) -> None:
    hub = over(reader)
    reader.gate.clear()
    joining = [asyncio.create_task(hub.listen("a")) for _ in range(300)]
    await asyncio.sleep(0)
    reader.gate.set()
    listeners = await asyncio.gather(*joining)
    assert reader.reads <= 5, "not one for each; the clock may have come round meanwhile"
    streams = [listener.events(None) for listener in listeners]
    assert {await anext(stream) for stream in streams} == {OPENING}
    assert len({(await told(stream))["id"] for stream in streams}) == 1
    before = reader.reads
    reader.now = job(state=State.SUCCEEDED)
    assert {(await told(stream))["event"] for stream in streams} == {"done"}
    assert reader.reads - before <= 3
    for stream in streams:
        await ended(stream)
    for listener in listeners:
        listener.close()
    assert hub.is_idle


async def test_each_job_has_a_poll_of_its_own(reader: _Reader) -> None:
    hub = over(reader)
    listeners = {name: await hub.listen(name) for name in ("a", "b")}
    for name, listener in listeners.items():
        stream = listener.events(None)
        await anext(stream)
        assert f'"id":"{name}"' in (await told(stream))["data"]
        await stream.aclose()
        listener.close()
    assert hub.is_idle


async def test_progress_and_states_are_told_and_a_slow_listener_misses_only_what_has_passed(
    reader: _Reader,
) -> None:
    hub = over(reader)
    listener = await hub.listen("a")
    stream = listener.events(None)
    await anext(stream)
    await told(stream)
    for done in range(2, 6):
        reader.now = job(progress=ProgressView(done=done, total=10))
        await reader.read_again()
    progress = await told(stream)
    assert progress["event"] == "progress"
    assert '"done":5.0' in progress["data"]
    listener.close()


async def test_the_poll_ends_with_the_last_listener(reader: _Reader) -> None:
    hub = over(reader)
    first, second = await hub.listen("a"), await hub.listen("a")
    first.close()
    first.close()
    await reader.read_again()
    second.close()
    assert hub.is_idle
    tasks = [task for task in asyncio.all_tasks() if "Watch._run" in repr(task.get_coro())]
    await asyncio.wait(tasks, timeout=_PATIENCE)
    assert all(task.done() for task in tasks)


async def test_who_comes_back_is_told_what_changed_since(reader: _Reader) -> None:
    hub, other = over(reader), over(reader)
    listener = await hub.listen("a")
    stream = listener.events(None)
    await anext(stream)
    seen = (await told(stream))["id"]
    listener.close()

    again = await other.listen("a")
    stream = again.events(seen)
    await anext(stream)
    following = asyncio.create_task(told(stream))
    await reader.read_again()
    assert not following.done()  # nothing is told twice
    reader.now = job(progress=ProgressView(done=9))
    assert (await following)["event"] == "progress"
    again.close()


async def test_the_end_is_told_once(reader: _Reader) -> None:
    reader.now = job(state=State.FAILED)
    hub = over(reader)
    listener = await hub.listen("a")
    assert not listener.has_seen_the_end(None)
    stream = listener.events(None)
    await anext(stream)
    done = await told(stream)
    await ended(stream)
    assert listener.has_seen_the_end(done["id"])
    listener.close()
    assert hub.is_idle


async def test_a_quiet_stream_gives_signs_of_life(reader: _Reader) -> None:
    hub = over(reader, Pace(poll=0.01, keep_alive=0.02))
    listener = await hub.listen("a")
    stream = listener.events(None)
    await anext(stream)
    await told(stream)
    assert [await anext(stream) for _ in range(3)] == [KEEP_ALIVE] * 3
    reader.now = job(state=State.SUCCEEDED)
    async with asyncio.timeout(_PATIENCE):
        while (event := await anext(stream)) == KEEP_ALIVE:
            pass
    assert parse(event)["event"] == "done"
    listener.close()


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (Problem(404, "not-found", "Not found", "no job"), 404),
        (RPCError("gone", RPCStatusCode.NOT_FOUND, b""), 404),
        (RPCError("away", RPCStatusCode.UNAVAILABLE, b""), 503),
        (unavailable("away"), 503),
    ],
)
async def test_a_job_that_cannot_be_read_is_refused_and_leaves_nothing(
    reader: _Reader, failure: Exception, status: int
) -> None:
    hub = over(reader)
    reader.now = failure
    for result in await asyncio.gather(*(hub.listen("a") for _ in range(3)), return_exceptions=True):
        assert isinstance(result, Problem)
        assert result.status == status
    assert hub.is_idle
    reader.now = job()
    (await hub.listen("a")).close()


async def test_streams_outlast_temporal_being_away(reader: _Reader) -> None:
    hub = over(reader)
    listener = await hub.listen("a")
    stream = listener.events(None)
    await anext(stream)
    await told(stream)
    reader.now = RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
    await reader.read_again(5)
    reader.now = job(state=State.SUCCEEDED)
    assert (await told(stream))["event"] == "done"
    listener.close()


async def test_a_job_that_is_gone_ends_its_streams(reader: _Reader) -> None:
    hub = over(reader)
    listener = await hub.listen("a")
    stream = listener.events(None)
    await anext(stream)
    await told(stream)
    reader.now = Problem(404, "not-found", "Not found", "no job")
    await ended(stream)
    listener.close()


async def test_a_fault_of_ours_ends_the_streams_and_not_the_hub(reader: _Reader) -> None:
    hub = over(reader)
    listener = await hub.listen("a")
    stream = listener.events(None)
    await anext(stream)
    await told(stream)
    reader.now = ZeroDivisionError()
    await ended(stream)
    reader.now = job()
    (await hub.listen("a")).close()
    listener.close()
    assert hub.is_idle


async def test_a_stop_ends_all_streams_and_takes_no_more(reader: _Reader) -> None:
    hub = over(reader)
    listeners = [await hub.listen(name) for name in ("a", "a", "b")]
    streams = [listener.events(None) for listener in listeners]
    for stream in streams:
        await anext(stream)
        await told(stream)
    waiting = [asyncio.create_task(ended(stream)) for stream in streams]
    await asyncio.sleep(0)
    hub.close()
    await asyncio.gather(*waiting)
    with pytest.raises(Problem) as refused:
        await hub.listen("c")
    assert (refused.value.status, refused.value.extra["reason"]) == (503, "stopping")


async def test_listeners_and_jobs_are_bounded(reader: _Reader) -> None:
    hub = over(reader, Pace(poll=0.01, keep_alive=30, listeners=3, jobs=2))
    first = [await hub.listen("a"), await hub.listen("b")]
    with pytest.raises(Problem, match="2 jobs"):
        await hub.listen("c")
    first.append(await hub.listen("a"))
    with pytest.raises(Problem, match="3 streams") as refused:
        await hub.listen("a")
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "10")
    for listener in first:
        listener.close()
    (await hub.listen("c")).close()
    assert hub.is_idle
