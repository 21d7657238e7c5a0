"""The real `worker.py`, as a process that signals reach: killed, stopped, started wrongly."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle

from duetime.engine import EmbeddedEngine
from duetime.engine.ports import free_port
from tests.support.jobs import NO_WAIT, Jobs, Outcome, acknowledged, is_queued, outcome_of, reason_of
from tests.support.waiting import eventually
from tests.support.workers import WorkerProcess, worker_processes

KINDS = ("test.until-released", "test.until-released.sync")


def noted(folder: Path, handle: WorkflowHandle) -> str:
    file = folder / f"{handle.id}.txt"
    return file.read_text() if file.exists() else ""


async def saved(folder: Path, handle: WorkflowHandle) -> None:
    await eventually(lambda: "saved" in noted(folder, handle))


def check_first(ended: Outcome, process: WorkerProcess) -> None:
    """The first attempt is told with everything, though its worker could not tell how it ended."""
    first, second = ended.attempts[0], ended.attempts[1]
    assert first.worker is not None and process.identity.fullmatch(first.worker)
    assert first.started_at is not None and first.finished_at is not None
    assert first.started_at < first.finished_at
    assert second.started_at is not None and first.finished_at <= second.started_at
    assert 0 < (first.fencing_token or 0) < (second.fencing_token or 0)


async def test_a_killed_worker(engine: EmbeddedEngine, jobs: Jobs, tmp_path: Path) -> None:
    """Killed with two handlers that have saved a checkpoint, by a third one whose attempt nobody heard of yet."""
    payload = {"folder": str(tmp_path)}
    once = NO_WAIT | {"max_attempts": 1}
    async with worker_processes(engine.address, jobs.queue) as [first]:
        handles = [await jobs.start(kind, payload, lease="2s", retry=NO_WAIT) for kind in KINDS]
        await asyncio.gather(*(saved(tmp_path, handle) for handle in handles))
        unheard = await jobs.start("test.quick-death", payload, lease="2s", retry=once)
        assert await first.child.wait() == -signal.SIGKILL
    (tmp_path / "release").touch()
    async with worker_processes(engine.address, jobs.queue):
        *ended, quiet = await asyncio.gather(*map(outcome_of, [*handles, unheard]))
    for end in ended:
        assert (end.result, end.outcomes) == (
            {"attempt": 2, "from": {"rows": 7}},
            ["lease_lost", "succeeded"],
        )
        check_first(end, first)
    assert quiet.result == 1, "an attempt that nobody heard of costs none"
    assert quiet.outcomes == ["lease_lost", "succeeded"]
    assert [attempt.acknowledged for attempt in quiet.attempts] == [False, True]
    assert quiet.attempts[0].dispatch == "1", "the server's history knows who had it"


async def test_a_worker_that_is_stopped_gives_back(
    engine: EmbeddedEngine, jobs: Jobs, tmp_path: Path
) -> None:
    payload, once = {"folder": str(tmp_path)}, {"max_attempts": 1}
    async with worker_processes(engine.address, jobs.queue, arguments=["--grace", "0.5s"]) as [first]:
        handles = [await jobs.start(kind, payload, retry=once) for kind in KINDS]
        await asyncio.gather(*(acknowledged(handle) for handle in handles))
        first.terminate()
        assert await first.child.wait() == 0, first.output
        assert "stopping: running handlers get 0.5s" in first.output
        for handle in handles:
            await eventually(lambda handle=handle: is_queued(handle))
            assert await reason_of(handle) == "interrupted"
    (tmp_path / "release").touch()
    async with worker_processes(engine.address, jobs.queue):
        for end in await asyncio.gather(*map(outcome_of, handles)):
            assert (end.result, end.outcomes) == (
                {"attempt": 1, "from": {"rows": 7}},
                ["interrupted", "succeeded"],
            )
            check_first(end, first)


async def test_a_worker_waits_for_its_server_and_can_be_stopped_meanwhile() -> None:
    process = WorkerProcess(f"127.0.0.1:{free_port()}", "anything")
    try:
        await eventually(lambda: "does not answer" in process.output)
        process.terminate()
        assert await process.child.wait() == 0
    finally:
        await process.kill()


async def test_ctrl_c_ends_a_worker_in_order(engine: EmbeddedEngine, jobs: Jobs) -> None:
    async with worker_processes(engine.address, jobs.queue) as [process]:
        assert "noop" in process.output
        process.child.signal(signal.SIGINT)
        assert await process.child.wait() == 0
        assert "Traceback" not in process.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--queues", "duetime"], "queue names beginning with `duetime` are reserved"),
        (["--queues", "a b"], "argument --queues"),
        (["--queues", ","], "names no queue"),
        (["--concurrency", "0"], "must be a whole number from 1"),
        (["--grace", "soon"], "not a duration"),
        (["--handlers", "no.such.module"], "there is no module 'no'"),
        (["--handlers", "json"], "json has no @handler function"),
        (["--handlers", "tests.support.handlers,tests.support.second_noop"], "two handlers serve the kind 'noop'"),
    ],
)  # fmt: skip
async def test_a_wrong_start_says_what_is_wrong(arguments: list[str], why: str) -> None:
    process: Any = WorkerProcess("127.0.0.1:1", "anything", *arguments)
    try:
        assert await process.child.wait() == 2, process.output
        assert why in process.output and "Traceback" not in process.output
    finally:
        await process.kill()
