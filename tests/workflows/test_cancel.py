"""Cancelling a job wherever it stands, and what its handler gets to say about that."""

import asyncio
import contextlib
import time
from datetime import timedelta
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle

from duetime import Job, JobCancelled, Snooze, handler
from duetime.contracts.carry import StopRequest
from duetime.contracts.record import Attempt, Record
from duetime.contracts.states import AttemptOutcome
from tests.support.jobs import (
    Jobs,
    acknowledged,
    held,
    is_backing_off,
    is_queued,
    outcome_of,
    reason_of,
    view_of,
)
from tests.support.waiting import eventually
from tests.support.workers import serving

CANCELED = WorkflowExecutionStatus.CANCELED


async def stop(handle: WorkflowHandle, grace: float, reason: str = "enough", **fields: Any) -> None:
    """As the API does it: how first, then the cancellation itself."""
    request = StopRequest(grace=timedelta(seconds=grace), reason=reason, **fields)
    await handle.signal("stop", request.model_dump(mode="json"))
    await handle.cancel()


async def test_what_no_attempt_holds_ends_at_once(jobs: Jobs, client: Client) -> None:
    @handler("snooze")
    async def snooze(payload: dict[str, Any]) -> None:
        raise Snooze("1h")

    @handler("fail")
    async def fail(payload: dict[str, Any]) -> None:
        raise ValueError("no luck")

    waiting = await jobs.start("nobody", delay="1h")
    delayed = await jobs.start_raw({"kind": "nobody", "queue": jobs.queue}, start_delay=timedelta(hours=1))
    elsewhere = Jobs(client, f"{jobs.queue}-nobody")
    queued = await elsewhere.start("nobody")
    async with serving(client, jobs.queue, snooze, fail):
        snoozed = await jobs.start("snooze")
        failing = await jobs.start("fail", retry={"initial_interval": "1h", "max_interval": "1h"})
        await eventually(lambda: is_queued(queued))
        await eventually(lambda: is_backing_off(failing))
        await eventually(lambda: reason_of(snoozed))
        handles = [waiting, delayed, queued, snoozed, failing]
        for handle in handles:
            await handle.cancel(reason="not needed")
        ended = await asyncio.gather(*map(outcome_of, handles))

    assert [end.status for end in ended] == [CANCELED] * 5
    assert [end.outcomes for end in ended] == [[], [], [], ["snoozed"], ["failed"]]
    view = await view_of(waiting)
    assert view is not None and view.error is not None
    assert (view.error.type, view.error.message) == ("Cancelled", "not needed")


async def test_the_attempts_of_a_job_that_waits_for_a_retry_are_kept(jobs: Jobs, client: Client) -> None:
    """The server forgets the record with the activity: the workflow asks for it first, unless the caller sends it."""

    @handler("fail")
    async def fail(payload: dict[str, Any], job: Job) -> None:
        await job.save_checkpoint({"row": 7})
        raise ValueError("no luck")

    async with serving(client, jobs.queue, fail):
        retry = {"initial_interval": "1h", "max_interval": "1h"}
        asks, told = [await jobs.start("fail", retry=retry) for _ in range(2)]
        await eventually(lambda: is_backing_off(asks))
        await eventually(lambda: is_backing_off(told))
        await asks.cancel()
        await stop(told, 5, seen=await acknowledged(told))
        for ended in await asyncio.gather(outcome_of(asks), outcome_of(told)):
            assert (ended.status, ended.outcomes) == (CANCELED, ["failed"])
            assert ended.attempts[0].error is not None and ended.attempts[0].error.message == "no luck"
            assert ended.ending.checkpoint == {"row": 7}


async def test_running_handlers_are_told(jobs: Jobs, client: Client) -> None:
    told: list[str] = []

    @handler("async")
    async def on_loop(payload: dict[str, Any], job: Job) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append("async")
            assert job.cancelled
            raise

    @handler("thread")
    def in_thread(payload: dict[str, Any], job: Job) -> None:
        try:
            while True:
                time.sleep(0.005)
        except JobCancelled:
            told.append("thread")
            raise

    @handler("polite")
    def polite(payload: dict[str, Any], job: Job) -> str:
        while not job.cancelled:
            with contextlib.suppress(JobCancelled):
                time.sleep(0.005)
        told.append("polite")
        return "finished all the same"

    @handler("clean")
    async def clean(payload: dict[str, Any], job: Job) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(2)
            await job.save_checkpoint("cleaned")
            told.append("clean")
            raise

    @handler("finish")
    async def finish(payload: dict[str, Any], job: Job) -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "finished all the same"

    @handler("fail")
    async def fail(payload: dict[str, Any], job: Job) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while it cleaned up")

    kinds = ["async", "thread", "polite", "clean", "finish", "fail"]
    async with serving(client, jobs.queue, on_loop, in_thread, polite, clean, finish, fail):
        handles = [await jobs.start(kind, lease="2s") for kind in kinds]
        await asyncio.gather(*map(held, handles))
        for handle in handles:
            await stop(handle, 20)
        ended = dict(zip(kinds, await asyncio.gather(*map(outcome_of, handles)), strict=True))

    assert sorted(told) == ["async", "clean", "polite", "thread"]
    for kind in ("async", "thread", "clean", "fail"):
        assert (ended[kind].status, ended[kind].outcomes) == (CANCELED, ["cancelled"]), kind
        assert ended[kind].attempts[0].worker == client.identity
    assert ended["clean"].ending.checkpoint == "cleaned"
    for kind in ("polite", "finish"):
        assert ended[kind].result == "finished all the same"
        assert ended[kind].outcomes == ["succeeded"]


async def test_a_handler_that_does_not_listen_is_left_behind(jobs: Jobs, client: Client) -> None:
    release = asyncio.Event()

    @handler("deaf")
    async def deaf(payload: dict[str, Any]) -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    async with serving(client, jobs.queue, deaf):
        handle, blind = await jobs.start("deaf", lease="2s"), await jobs.start("deaf", lease="2s")
        seen = await acknowledged(handle)
        await stop(handle, 1, "stop it", seen=seen)
        await held(blind)
        await stop(blind, 0)
        ended, ended_blind = await outcome_of(handle), await outcome_of(blind)
        release.set()

    assert (ended.status, ended.outcomes, ended.type) == (CANCELED, ["cancelled"], "Cancelled")
    attempt = ended.attempts[0]
    assert attempt.worker == client.identity and attempt.fencing_token and attempt.finished_at
    view = await view_of(handle)
    assert view is not None and view.error is not None and view.error.message == "stop it"
    assert ended_blind.outcomes == ["cancelled"], "listed, though nobody waited for its handler"


async def test_cancelling_twice_and_a_stop_that_is_none(jobs: Jobs, client: Client) -> None:
    @handler("wait")
    async def wait(payload: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    async with serving(client, jobs.queue, wait):
        handle = await jobs.start("wait", lease="2s")
        await held(handle)
        for nonsense in (
            {"grace": "soon"},
            {"grace": -5},
            {"grace": 10**12},
            {"seen": 5},
            {},
            [],
            "x",
            None,
            5,
        ):
            await handle.signal("stop", nonsense)
        await handle.signal("stop")
        await handle.signal("stop", args=[{}, {}])
        for name in ("dependent", "predecessor"):
            for nonsense in ([], [1], ["no id!"], [{}], [{"id": "x", "state": "odd"}], ["a", "b"], [None]):
                await handle.signal(name, args=nonsense)
        await handle.signal("no such signal", 1)
        await handle.cancel()
        await handle.cancel()
        ended = await outcome_of(handle)
    assert (ended.status, ended.outcomes) == (CANCELED, ["cancelled"])


def test_a_stop_request_travels_as_json() -> None:
    attempt = Attempt(number=1, outcome=AttemptOutcome.RUNNING)
    request = StopRequest(grace=timedelta(seconds=5), seen=Record(attempts=[attempt]))
    assert StopRequest.model_validate(request.model_dump(mode="json")) == request
