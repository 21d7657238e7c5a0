"""The lease: kept while a handler runs, lost when it hangs or its loop does, and the carrier of what it saves."""

import asyncio
import threading
import time
from typing import Any

import pytest
from temporalio.client import Client

from duetime import Job, handler
from duetime.contracts.record import Record
from tests.support.jobs import NO_WAIT, Jobs, acknowledged, heard, outcome_of
from tests.support.waiting import eventually
from tests.support.workers import serving


async def test_a_handler_longer_than_its_lease_keeps_it(jobs: Jobs, client: Client) -> None:
    """`auto` renews for the handler, blocked thread or not; `manual` leaves it to the handler's own calls."""

    @handler("sleeps")
    async def sleeps(payload: dict[str, Any]) -> str:
        await asyncio.sleep(3)
        return "awake"

    @handler("blocks")
    def blocks(payload: dict[str, Any]) -> str:
        time.sleep(3)
        return "awake"

    @handler("beats", heartbeat="manual")
    async def beats(payload: dict[str, Any], job: Job) -> str:
        for _ in range(15):
            await asyncio.sleep(0.2)
            job.heartbeat()
        return "awake"

    @handler("beats.thread", heartbeat="manual")
    def beats_in_thread(payload: dict[str, Any], job: Job) -> str:
        for number in range(15):
            time.sleep(0.2)
            job.progress(number, 15)
        return "awake"

    async with serving(client, jobs.queue, sleeps, blocks, beats, beats_in_thread):
        kinds = ("sleeps", "blocks", "beats", "beats.thread")
        ended = await asyncio.gather(*(jobs.run(kind, lease="2s") for kind in kinds))
    for end in ended:
        assert (end.result, end.outcomes) == ("awake", ["succeeded"])


async def test_a_manual_lease_is_lost_by_a_handler_that_hangs(jobs: Jobs, client: Client) -> None:
    stopped: list[str] = []

    @handler("hangs", heartbeat="manual")
    async def hangs(payload: dict[str, Any], job: Job) -> int:
        if job.attempt == 1:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append("loop")
        return job.attempt

    @handler("hangs.thread", heartbeat="manual")
    def hangs_in_thread(payload: dict[str, Any], job: Job) -> int:
        if job.attempt == 1:
            try:
                while True:
                    time.sleep(0.01)
            finally:
                stopped.append("thread")
        return job.attempt

    async with serving(client, jobs.queue, hangs, hangs_in_thread):
        kinds = ("hangs", "hangs.thread")
        ended = await asyncio.gather(*(jobs.run(kind, lease="2s", retry=NO_WAIT) for kind in kinds))
    for end in ended:
        assert (end.result, end.outcomes) == (2, ["lease_lost", "succeeded"])
        assert end.attempts[0].worker == client.identity and end.attempts[0].acknowledged
        assert end.tokens == sorted(set(end.tokens))
    assert sorted(stopped) == ["loop", "thread"], "the handler is told"


async def test_leases_can_be_lost_until_the_attempts_are_used_up(jobs: Jobs, client: Client) -> None:
    @handler("hangs", heartbeat="manual")
    async def hangs(payload: dict[str, Any], job: Job) -> None:
        await job.save_checkpoint(job.attempt)
        await asyncio.Event().wait()

    async with serving(client, jobs.queue, hangs):
        ended = await jobs.run("hangs", lease="2s", retry=NO_WAIT | {"max_attempts": 2})
    assert (ended.type, ended.outcomes) == ("LeaseLost", ["lease_lost"] * 2)
    assert ended.ending.checkpoint == 2


async def test_a_thread_that_cannot_be_stopped_is_left_behind(jobs: Jobs, client: Client) -> None:
    release = threading.Event()

    @handler("blocks")
    def blocks(payload: dict[str, Any], job: Job) -> int:
        if job.attempt == 1:
            release.wait(10)
        return job.attempt

    async with serving(client, jobs.queue, blocks):
        ended = await jobs.run("blocks", lease="2s", timeout="1s", retry=NO_WAIT)
        release.set()
    assert (ended.result, ended.outcomes) == (2, ["timed_out", "succeeded"])


async def test_checkpoints_and_progress(jobs: Jobs, client: Client) -> None:
    seen: dict[str, Any] = {}

    @handler("saves")
    async def saves(payload: dict[str, Any], job: Job) -> Any:
        if job.attempt > 1:
            return job.checkpoint
        state = {"rows": 1, "list": [1, (2, 3)]}
        await job.save_checkpoint(state)
        state["rows"] = 99
        for value, why in (
            ({"a": float("nan")}, "the checkpoint at /a: nan is not a JSON number"),
            ({1: 2}, "is not text"),
            ("x" * 70_000, "70,002 bytes of JSON; at most 65,536"),
            ({"a": object()}, "object is not a JSON type"),
        ):
            with pytest.raises(ValueError) as refused:  # noqa: PT011
                await job.save_checkpoint(value)
            seen[why] = str(refused.value)
        for number in (float("nan"), float("inf")):
            with pytest.raises(ValueError, match="finite"):
                job.progress(number)
        job.progress(1, 3, "m" * 600 + "\ud800")
        job.progress(2, 3, "lone \ud800")
        await job.save_checkpoint(state | {"rows": 2})
        state["rows"] = 99
        raise ConnectionError

    @handler("saves.thread")
    def saves_in_thread(payload: dict[str, Any], job: Job) -> Any:
        if job.attempt > 1:
            job.checkpoint["changed"] = "in place"
            raise ConnectionError if job.attempt == 2 else RuntimeError(str(job.checkpoint))
        job.save_checkpoint({"rows": 1})
        with pytest.raises(ValueError, match="at most 65,536"):
            job.save_checkpoint("x" * 70_000)
        own = threading.Thread(target=lambda: job.save_checkpoint({"rows": 2}))
        own.start()
        own.join()
        job.progress(5)
        raise ConnectionError

    @handler("exactly")
    async def exactly(payload: dict[str, Any], job: Job) -> int:
        await job.save_checkpoint("x" * (65_536 - 2))
        return len(job.checkpoint or "")

    async with serving(client, jobs.queue, saves, saves_in_thread, exactly):
        loop, thread, full = await asyncio.gather(
            jobs.run("saves", retry=NO_WAIT),
            jobs.run("saves.thread", retry=NO_WAIT | {"max_attempts": 2}),
            jobs.run("exactly"),
        )
    assert loop.result == {"rows": 2, "list": [1, [2, 3]]}
    assert all(why in text for why, text in seen.items())
    progress = loop.ending.progress
    assert progress is not None and (progress.done, progress.total) == (2, 3)
    assert progress.message == "lone \\ud800"
    assert thread.ending.checkpoint == {"rows": 2}, "what changes in place is not saved"
    assert thread.ending.progress is not None and thread.ending.progress.done == 5
    assert full.result == 0 and len(full.ending.checkpoint) == 65_534


async def test_progress_is_seen_while_the_handler_runs(jobs: Jobs, client: Client) -> None:
    release = asyncio.Event()

    @handler("tells")
    async def tells(payload: dict[str, Any], job: Job) -> None:
        for number in range(1_000):
            job.progress(number, 1_000, "rows")
        await release.wait()

    async with serving(client, jobs.queue, tells):
        handle = await jobs.start("tells")

        async def told() -> Record | None:
            record = await heard(handle)
            return record if record and record.progress and record.progress.done == 999 else None

        record = await eventually(told)
        assert record is not None and record.progress is not None and record.progress.message == "rows"
        release.set()
        await outcome_of(handle)


async def test_what_a_job_knows(jobs: Jobs, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "duetime.job")

    @handler("knows")
    async def knows(payload: dict[str, Any], job: Job) -> dict[str, Any]:
        job.log.info("says %s%%", 5, extra={"mine": 1})
        job.log.info("100% plain")
        return {
            "id": job.id,
            "kind": job.kind,
            "queue": job.queue,
            "attempt": job.attempt,
            "max_attempts": job.max_attempts,
            "fencing_token": job.fencing_token,
            "key": job.idempotency_key,
            "nominal": job.nominal_time,
            "due": job.due_at.isoformat(),
            "cancelled": job.cancelled,
        }

    async with serving(client, jobs.queue, knows):
        handle = await jobs.start("knows", retry={"max_attempts": 7})
        ended = await outcome_of(handle)
    described = await handle.describe()
    told = ended.result
    assert told.pop("fencing_token") == ended.tokens[0]
    assert told == {
        "id": handle.id,
        "kind": "knows",
        "queue": jobs.queue,
        "attempt": 1,
        "max_attempts": 7,
        "key": f"{handle.id}:{described.run_id}",
        "nominal": None,
        "due": described.start_time.isoformat(),
        "cancelled": False,
    }
    said = [record for record in caplog.records if record.name == "duetime.job.knows"]
    assert [record.getMessage() for record in said] == [
        f"[{handle.id} attempt 1] says 5%",
        f"[{handle.id} attempt 1] 100% plain",
    ]
    assert (said[0].__dict__["job_id"], said[0].__dict__["mine"]) == (handle.id, 1)


async def test_a_token_is_the_servers_dispatch_time(jobs: Jobs, client: Client) -> None:
    release = asyncio.Event()

    @handler("waits")
    async def waits(payload: dict[str, Any], job: Job) -> int:
        await release.wait()
        return job.fencing_token

    async with serving(client, jobs.queue, waits):
        handle = await jobs.start("waits")
        await acknowledged(handle)
        pending = (await handle.describe()).raw_description.pending_activities[0]
        release.set()
        ended = await outcome_of(handle)
    assert ended.result == pending.last_started_time.ToMicroseconds()
