"""Who lives: signs of life first, polls where there are none."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.common.v1 import WorkerVersionCapabilities
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.worker.v1 import PluginInfo, WorkerHeartbeat
from temporalio.api.workflowservice.v1 import PollActivityTaskQueueRequest
from temporalio.client import Client

from api.queues import workers
from api.queues.lanes import read_lane
from api.queues.workers import Poll, Sign, Signs, Told, living, sign_of
from duetime.observe.runtime import OFTEN
from tests.operations.bench import Bench, until

NOW = datetime(2027, 1, 15, 12, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def sign(identity: str = "1@a", *, silent: float = 0, interval: float = 2, **fields: object) -> Sign:
    told = {"used": 1, "free": 4} | fields
    span = timedelta(seconds=interval)
    return Sign(f"{identity}#{silent}", identity, "mail", ago(silent), span, **told)  # type: ignore[arg-type]


def alive(signs: list[Sign], polls: list[Poll], *, all_told: bool = True) -> dict[str, str]:
    """Identity and how it was told, when our clock and that of the workers agree."""
    silent = {sign.instance: NOW - sign.said_at for sign in signs}
    told = Told(signs, is_all=all_told)
    return {worker.identity: worker.told_by for worker in living(told, polls, silent, NOW)}


@pytest.mark.parametrize(
    ("interval", "silent", "lives"),
    [
        (2, 6.9, True),
        (2, 7.1, False),
        (60, 69, True),
        (60, 71, False),
        (0, 69, True),  # a first sign tells no interval
        (0, 71, False),
    ],
)
def test_a_worker_lives_as_long_as_its_signs_come(interval: float, silent: float, lives: bool) -> None:
    assert bool(alive([sign(silent=silent, interval=interval)], [])) is lives


def test_the_poll_of_a_dead_worker_does_not_make_it_live() -> None:
    assert alive([sign(silent=30)], [Poll("1@a", ago(29))]) == {}
    assert alive([sign(silent=1, leaves=True)], [Poll("1@a", ago(2))]) == {}


def test_a_worker_without_signs_lives_by_its_polls_and_is_told_dead_within_90_seconds() -> None:
    assert alive([], [Poll("go@b", ago(69))]) == {"go@b": "poll"}
    assert alive([], [Poll("go@b", ago(71))]) == {}


@pytest.mark.parametrize(
    ("polled", "promises", "all_told", "lives"),
    [
        (6.9, True, True, True),  # its first sign may still be on its way
        (7.1, True, True, False),
        (69, True, False, True),  # the server keeps no signs, or more of them than are read
        (69, False, True, True),
    ],
)
def test_who_promised_signs_of_life_and_gives_none_is_dead(
    polled: float, promises: bool, all_told: bool, lives: bool
) -> None:
    polls = [Poll("1@a", ago(polled), promises)]
    assert bool(alive([], polls, all_told=all_told)) is lives
    assert alive([sign(interval=60, silent=50)], polls) == {"1@a": "heartbeat"}


def test_a_process_that_was_started_anew_lives_though_its_forerunner_is_dead() -> None:
    """In a container every process is the first one on the same host."""
    assert alive([sign(silent=60)], [Poll("1@a", ago(5))]) == {"1@a": "poll"}
    assert alive([sign(silent=3, leaves=True)], [Poll("1@a", ago(2))]) == {"1@a": "poll"}
    both = [sign(silent=60), sign(silent=1)]
    assert alive(both, [Poll("1@a", ago(5))]) == {"1@a": "heartbeat"}


@pytest.mark.parametrize(("polled", "lives"), [(4, True), (6, False), (60, False)])
def test_a_poll_that_outlived_a_frozen_worker_is_nobodys(polled: float, lives: bool) -> None:
    """The server closes an open poll a minute after it was begun, or fills it with a task: both look like a new one.
    A process that was started anew would have given a sign of its own by now."""
    frozen = sign(silent=80)
    assert bool(alive([frozen], [Poll("1@a", ago(polled))])) is lives
    assert bool(alive([sign(silent=100, interval=60)], [Poll("1@a", ago(6))])), "its signs come once a minute"


def test_a_worker_for_workflows_alone_serves_no_jobs() -> None:
    assert alive([sign(used=0, free=0)], []) == {}
    assert alive([sign(used=0, free=0)], [Poll("1@a", ago(5))]) == {"1@a": "heartbeat"}
    assert alive([sign(used=None, free=None)], []) == {"1@a": "heartbeat"}


@pytest.mark.parametrize(
    ("plugins", "elapsed", "interval"), [([OFTEN], None, 2), ([], None, 0), ([OFTEN], 5, 5), ([], 60, 60)]
)
def test_a_first_sign_tells_how_often_there_will_be_one(
    plugins: list[str], elapsed: int | None, interval: int
) -> None:
    said = WorkerHeartbeat(plugins=[PluginInfo(name=name) for name in plugins])
    if elapsed is not None:
        said.elapsed_since_last_heartbeat.FromSeconds(elapsed)
    assert sign_of(said).interval == timedelta(seconds=interval)


def test_a_sign_that_is_new_to_us_may_be_old(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    """Somebody looks once a minute; the worker died right after the first look, and its clock is an hour wrong."""
    clock, signs = [1000.0], Signs(client)
    monkeypatch.setattr(workers.time, "monotonic", lambda: clock[0])

    def silent(said: float) -> float:
        one = Sign("i", "1@a", "mail", ago(3600 - said), timedelta(seconds=2))
        signs.remember([one])
        return signs.silent([one])["i"].total_seconds()

    silent(0)
    clock[0] += 60
    assert silent(4) == 56
    clock[0] += 10
    assert silent(4) == 66, "nothing new"
    clock[0] += 60
    assert silent(130) == 0, "it lives again"
    clock[0] += 60
    assert silent(186) == 4
    clock[0] += 60
    assert silent(20) == 0, "its clock was set back"
    assert silent(9999) == 0, "and forth"


def test_how_long_a_worker_is_silent_is_told_by_our_clock() -> None:
    """Its own is an hour wrong."""
    wrong = sign(silent=3600)
    (worker,) = living(Told([wrong]), [], {wrong.instance: timedelta(seconds=1)}, NOW)
    assert worker.identity == "1@a"


@contextlib.contextmanager
def polling(bench: Bench, identity: str, build_id: str = "") -> Iterator[None]:
    """Somebody who polls the queue, and no more."""
    asked = asyncio.ensure_future(
        bench.client.workflow_service.poll_activity_task_queue(
            PollActivityTaskQueueRequest(
                namespace=bench.client.namespace,
                task_queue=TaskQueue(name=bench.queue),
                identity=identity,
                worker_version_capabilities=WorkerVersionCapabilities(build_id=build_id),
            ),
            timeout=timedelta(seconds=20),
        )
    )
    try:
        yield
    finally:
        asked.cancel()


async def test_a_worker_that_died_before_its_first_sign_of_life_is_soon_gone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes on listing its poll for five minutes."""
    with polling(bench, "1@a", OFTEN):
        await until(bench.view, lambda view: [worker["told_by"] for worker in view["workers"]] == ["poll"])
    monkeypatch.setattr(workers, "FIRST_SIGN", timedelta(seconds=1))
    view = await until(bench.view, lambda view: not view["workers"])
    assert view["health"] == "no_worker"
    (poll,) = (await read_lane(bench.client, bench.queue)).polls
    assert poll.promises and poll.identity == "1@a"


async def test_a_worker_of_another_kind_is_seen(bench: Bench) -> None:
    """As an SDK without signs of life: it only polls."""
    with polling(bench, "go@elsewhere"):
        view = await until(bench.view, lambda view: view["workers"])
    (worker,) = view["workers"]
    assert (worker["identity"], worker["told_by"], worker["slots"]) == ("go@elsewhere", "poll", None)
    assert view["slots"] is None and view["health"] == "ok"
