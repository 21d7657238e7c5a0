"""A worker that shuts down lets handlers finish, and gives back what does not: at no cost."""

import asyncio
import time
from typing import Any

from temporalio.client import Client

from duetime import Job, Reject, Snooze, handler
from tests.support.jobs import Jobs, acknowledged, held, is_queued, outcome_of, reason_of, view_of
from tests.support.waiting import eventually
from tests.support.workers import serving


@handler("loop")
async def on_loop(payload: dict[str, Any], job: Job) -> Any:
    if job.checkpoint is None:
        await job.save_checkpoint({"row": 7})
        await asyncio.Event().wait()
    return [job.attempt, job.checkpoint]


@handler("thread")
def in_thread(payload: dict[str, Any], job: Job) -> Any:
    if job.checkpoint is None:
        job.save_checkpoint({"row": 7})
        while True:
            time.sleep(0.005)
    return [job.attempt, job.checkpoint]


@handler("quick")
async def quick(payload: dict[str, Any], job: Job) -> str:
    await asyncio.sleep(0.5)
    return "finished in the grace"


@handler("purposeful")
async def purposeful(payload: dict[str, Any], job: Job) -> str:
    if job.checkpoint is not None:
        return "later"
    await job.save_checkpoint(1)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise (Snooze(0.1) if payload["snooze"] else Reject("not like this")) from None
    return ""


@handler("untidy")
async def untidy(payload: dict[str, Any], job: Job) -> str:
    if job.checkpoint is None:
        await job.save_checkpoint(1)
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while it cleaned up")
    return "tidy"


HANDLERS = (on_loop, in_thread, quick, purposeful, untidy)


async def test_attempts_are_given_back(jobs: Jobs, client: Client) -> None:
    once = {"max_attempts": 1}
    async with serving(client, jobs.queue, *HANDLERS, grace=1.5):
        handles = [
            await jobs.start("loop", retry=once),
            await jobs.start("thread", retry=once),
            await jobs.start("untidy", retry=once),
            await jobs.start("purposeful", {"snooze": True}, retry=once),
            await jobs.start("purposeful", {"snooze": False}),
        ]
        await asyncio.gather(*map(acknowledged, handles))
        quick_one = await jobs.start("quick", retry=once)
        await held(quick_one)
    for handle in handles[:3]:
        await eventually(lambda handle=handle: is_queued(handle))
        assert await reason_of(handle) == "interrupted"
    async with serving(client, jobs.queue, *HANDLERS):
        ended = await asyncio.gather(*map(outcome_of, [*handles, quick_one]))

    loop, thread, untidy_one, snoozed, rejected, finished = ended
    for end in (loop, thread):
        assert (end.result, end.outcomes) == ([1, {"row": 7}], ["interrupted", "succeeded"])
        assert end.attempts[0].worker == client.identity and end.attempts[0].finished_at
        assert end.tokens == sorted(set(end.tokens))
    assert (untidy_one.result, untidy_one.outcomes) == ("tidy", ["interrupted", "succeeded"])
    assert (snoozed.result, snoozed.outcomes) == ("later", ["snoozed", "succeeded"])
    assert (rejected.type, rejected.outcomes) == ("Rejected", ["failed"])
    assert (finished.result, finished.outcomes) == ("finished in the grace", ["succeeded"])


async def test_interrupted_again_and_again_costs_nothing(jobs: Jobs, client: Client) -> None:
    seen: list[int] = []

    @handler("waits")
    async def waits(payload: dict[str, Any], job: Job) -> int:
        seen.append(job.attempt)
        if len(seen) < 4:
            await asyncio.Event().wait()
        return job.attempt

    handle = await jobs.start("waits", retry={"max_attempts": 1})
    for count in range(1, 4):
        async with serving(client, jobs.queue, waits, grace=0):
            await eventually(lambda count=count: len(seen) == count)
    async with serving(client, jobs.queue, waits):
        ended = await outcome_of(handle)
    assert (ended.result, ended.outcomes) == (1, ["interrupted"] * 3 + ["succeeded"])
    assert seen == [1, 1, 1, 1]


async def test_a_job_without_its_handler_is_given_back_until_a_worker_has_it(
    jobs: Jobs, client: Client
) -> None:
    @handler("known")
    async def known(payload: dict[str, Any], job: Job) -> str:
        if job.checkpoint is None:
            await job.save_checkpoint("kept")
            raise ValueError("first")
        return str(job.checkpoint)

    @handler("other")
    async def other(payload: dict[str, Any]) -> None: ...

    async with serving(client, jobs.queue, other):
        handle = await jobs.start("known", retry={"initial_interval": "2s", "jitter": 0, "max_attempts": 2})
        await eventually(lambda: is_given_back(handle))
        assert (await outcome_of(await jobs.start("other"))).outcomes == ["succeeded"]
    async with serving(client, jobs.queue, known):
        await acknowledged(handle)
    # Its retry meets a worker that has no handler: the attempts so far are kept.
    async with serving(client, jobs.queue, other):
        await eventually(lambda: is_given_back(handle, after=1))
    async with serving(client, jobs.queue, known):
        ended = await outcome_of(handle)
    assert (ended.result, ended.outcomes) == ("kept", ["failed", "succeeded"])
    assert [attempt.number for attempt in ended.attempts] == [1, 2]


async def is_given_back(handle: Any, after: int = 0) -> bool:
    view = await view_of(handle)
    return view is not None and view.reason == "no_handler" and len(view.record.attempts) == after
