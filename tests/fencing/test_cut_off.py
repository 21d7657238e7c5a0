"""A worker that is cut off from the server stops its handlers before anybody else can have their jobs."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from activities.command.kind import CommandKind
from duetime import Job, handler
from duetime.connection import connect
from duetime.engine import EmbeddedEngine
from duetime.handlers import Handler
from duetime.worker import Worker
from tests.support.jobs import NO_WAIT, Jobs, acknowledged, outcome_of, pending
from tests.support.lateness import measured_lateness
from tests.support.proxy import Proxy, proxy_to
from tests.support.waiting import eventually
from tests.support.workers import serving

LEASE = 2.0


class Ward:
    """What a job's handler saw, by the wall clock that the server on this machine has too."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.began: list[tuple[int, float]] = []
        self.stopped_at = 0.0

    def enter(self, job: Job) -> bool:
        """Whether this is the first attempt."""
        self.began.append((job.fencing_token, time.time()))
        return len(self.began) == 1

    def stopped(self) -> bool:
        return self.stopped_at > 0


@pytest.fixture
def ward() -> Ward:
    return Ward()


def hold(on_loop: Ward, in_thread: Ward) -> list[Any]:
    """Handlers that run until they are stopped or released the first time, and return at once the second time."""

    @handler("loop")
    async def loop(payload: dict[str, Any], job: Job) -> int:
        if on_loop.enter(job):
            try:
                await on_loop.release.wait()
            except asyncio.CancelledError:
                on_loop.stopped_at = time.time()
                raise
        return job.attempt

    @handler("thread")
    def thread(payload: dict[str, Any], job: Job) -> int:
        if in_thread.enter(job):
            try:
                while not in_thread.release.is_set():
                    time.sleep(0.005)
            except BaseException:
                in_thread.stopped_at = time.time()
                raise
        return job.attempt

    return [loop, thread, Handler("command", CommandKind().run)]


@asynccontextmanager
async def behind(engine: EmbeddedEngine, queue: str, *handlers: Any) -> AsyncIterator[tuple[Proxy, Worker]]:
    """A worker that reaches the server through a proxy."""
    async with proxy_to(engine.address) as proxy:
        far = await connect(proxy.address)
        async with serving(far, queue, *handlers, grace=0.1) as worker:
            yield proxy, worker
            proxy.heal()


async def lease_end(handle: WorkflowHandle) -> float:
    """When the server may give the job to somebody else, as far as it has heard of the worker."""
    activity = await pending(handle)
    assert activity is not None
    return activity.last_heartbeat_time.ToMicroseconds() / 1e6 + LEASE


class Command:
    """A command that runs until it is ended the first time, with a child; the second time it ends at once."""

    def __init__(self, folder: Path) -> None:
        self._pids = folder / "pids"
        self.ended_at = 0.0

    @property
    def payload(self) -> dict[str, Any]:
        note = f"echo $$ >> {self._pids}"
        return {"shell": f"test -s {self._pids} && exit 0; sleep 600 & echo $! >> {self._pids}; {note}; wait"}

    def began(self) -> bool:
        """Whether it has a child, and has said so: its worker is heard of before that."""
        return self._pids.exists() and len(self._pids.read_text().splitlines()) == 2

    def ended(self) -> bool:
        if any(alive(int(pid)) for pid in self._pids.read_text().split()):
            return False
        self.ended_at = self.ended_at or time.time()
        return True


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
    return "State:\tZ" not in status


CUTS: dict[str, Callable[[Proxy], None]] = {
    "black hole": Proxy.cut,
    "refused": Proxy.refuse,
    "half open": Proxy.lose_answers,
}


async def cut_off(client: Client, engine: EmbeddedEngine, queue: str, name: str, folder: Path) -> None:
    wards, command, jobs = (Ward(), Ward()), Command(folder), Jobs(client, queue)
    handlers = hold(*wards)
    async with behind(engine, queue, *handlers) as (proxy, worker):
        kinds = (("loop", {}), ("thread", {}), ("command", command.payload))
        handles = [await jobs.start(kind, payload, lease=LEASE, retry=NO_WAIT) for kind, payload in kinds]
        await asyncio.gather(*map(acknowledged, handles))
        await eventually(command.began)
        assert not command.ended()
        with measured_lateness() as late:
            CUTS[name](proxy)
            ends = [await lease_end(handle) for handle in handles]
            await asyncio.gather(*map(eventually, (wards[0].stopped, wards[1].stopped, command.ended)))
        if name != "half open":  # there the server goes on hearing of the worker
            stops = (wards[0].stopped_at, wards[1].stopped_at, command.ended_at)
            for stopped_at, end in zip(stops, ends, strict=True):
                # What a machine with too much to do adds is no fault of the worker's.
                assert stopped_at < end + late.seconds, (name, late.seconds)
        async with serving(client, queue, *handlers):
            results = await asyncio.gather(*map(outcome_of, handles))
        assert worker.counters.leases_lost == 3
        assert worker.counters.heartbeats_unanswered > 0
    for ended in results:
        # What the lost worker's open polls swallowed in between was never acknowledged, and costs nothing.
        assert (ended.outcomes[0], ended.outcomes[-1]) == ("lease_lost", "succeeded"), name
        assert [attempt.acknowledged for attempt in ended.attempts[1:-1]] == [False] * (
            len(ended.attempts) - 2
        )
    for ward, ended in zip(wards, results, strict=False):
        (first, _), (second, began_again) = ward.began
        assert ended.result == 2
        assert (ended.tokens[0], ended.tokens[-1]) == (first, second)
        assert ward.stopped_at < began_again, "never two at once"


async def test_handlers_are_stopped_before_their_leases_end(
    client: Client, engine: EmbeddedEngine, orchestration: None, queue: str, tmp_path: Path
) -> None:
    """On the loop, in threads, and the processes of commands; three kinds of broken network side by side."""
    for number in range(len(CUTS)):
        (tmp_path / str(number)).mkdir()
    await asyncio.gather(
        *(
            cut_off(client, engine, f"{queue}-{number}", name, tmp_path / str(number))
            for number, name in enumerate(CUTS)
        )
    )


async def heard_again(handle: WorkflowHandle, times: int = 1) -> None:
    """Waits until the server has heard of the job's worker that often."""
    for _ in range(times):
        activity = await pending(handle)
        assert activity is not None
        last = activity.last_heartbeat_time

        async def later(last: Any = last) -> bool:
            now = await pending(handle)
            return now is None or now.last_heartbeat_time != last

        await eventually(later)


async def test_what_networks_usually_do_costs_no_lease(jobs: Jobs, engine: EmbeddedEngine) -> None:
    """Latency and connections that end."""
    wards = (Ward(), Ward())
    async with behind(engine, jobs.queue, *hold(*wards)) as (proxy, worker):
        handles = [await jobs.start(kind, lease=2 * LEASE) for kind in ("loop", "thread")]
        await asyncio.gather(*map(acknowledged, handles))
        proxy.delay(0.15)
        await asyncio.gather(*(heard_again(handle, times=2) for handle in handles))
        proxy.heal()
        for _ in range(3):
            proxy.reset()
            await asyncio.gather(*map(heard_again, handles))
        for ward in wards:
            ward.release.set()
        results = await asyncio.gather(*map(outcome_of, handles))
        assert worker.counters.leases_lost == 0
    assert [ended.outcomes for ended in results] == [["succeeded"]] * 2


# -- what was done is told ------------------------------------------------------------------------------------


@pytest.fixture
def stage(ward: Ward) -> Handler:
    """Ends when it is told to, whatever else it is told."""

    @handler("stage")
    async def stage(payload: dict[str, Any], job: Job) -> str:
        if not ward.enter(job):
            return "second"
        while not ward.release.is_set():
            try:
                await ward.release.wait()
            except asyncio.CancelledError:
                ward.stopped_at = time.time()
        return "first"

    return stage  # type: ignore[return-value]


async def test_a_result_is_delivered_once_the_network_is_back(
    jobs: Jobs, engine: EmbeddedEngine, ward: Ward, stage: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    """The handler ended while nobody could be told: within the lease that is no loss."""
    async with behind(engine, jobs.queue, stage) as (proxy, worker):
        handle = await jobs.start("stage", lease="30s")
        await acknowledged(handle)
        proxy.refuse()
        ward.release.set()
        await eventually(lambda: "has no answer yet" in caplog.text)
        proxy.reset()
        proxy.heal()
        ended = await outcome_of(handle)
        assert worker.counters.results_refused == worker.counters.leases_lost == 0
    assert (ended.result, ended.outcomes) == ("first", ["succeeded"])


async def test_a_lost_answer_leaves_one_result(
    jobs: Jobs, engine: EmbeddedEngine, ward: Ward, stage: Handler
) -> None:
    """The server took the result, and the answer was lost: the worker asks again and learns that it is over."""
    async with behind(engine, jobs.queue, stage) as (proxy, worker):
        handle = await jobs.start("stage", lease="30s")
        await acknowledged(handle)
        proxy.lose_answers()
        ward.release.set()
        ended = await outcome_of(handle)
        proxy.reset()
        proxy.heal()
        await eventually(lambda: worker.counters.results_unknown)
        assert worker.counters.results_refused == 0
    assert (ended.result, ended.outcomes) == ("first", ["succeeded"])
    assert len(ward.began) == 1


async def test_a_late_result_is_refused_and_counted(
    jobs: Jobs, client: Client, engine: EmbeddedEngine, ward: Ward, stage: Handler
) -> None:
    """The handler went on although it was told to stop, and ends after somebody else has done its job."""
    async with behind(engine, jobs.queue, stage) as (proxy, worker):
        handle = await jobs.start("stage", lease=LEASE, retry=NO_WAIT)
        await acknowledged(handle)
        proxy.cut()
        await eventually(ward.stopped)
        async with serving(client, jobs.queue, stage):
            ended = await outcome_of(handle)
        proxy.reset()
        proxy.heal()
        ward.release.set()
        await eventually(lambda: worker.counters.results_refused + worker.counters.results_unknown)
    assert (ended.result, ended.outcomes[0], ended.outcomes[-1]) == ("second", "lease_lost", "succeeded")
    assert (await handle.result())["result"] == "second"
