"""Jobs of one concurrency key: the same in the fake as in the real Duetime."""

import asyncio
from typing import Any

from duetime import Job, State, handler
from tests.client.worlds import World

LOG: dict[str, list[str]] = {}


@handler("conf.limited")
async def limited(payload: dict[str, Any], job: Job) -> int:
    """Tells when it begins and ends, and fails as often as it is told."""
    log = LOG.setdefault(payload["log"], [])
    log.append(f"+{payload['name']}")
    await asyncio.sleep(0.05)
    log.append(f"-{payload['name']}")
    if job.attempt <= payload.get("failures", 0):
        raise ConnectionError("hung up")
    return job.attempt


def most_at_once(log: list[str]) -> int:
    now = most = 0
    for line in log:
        now += 1 if line[0] == "+" else -1
        most = max(most, now)
    return most


async def test_no_more_than_the_limit_run_and_the_first_priority_goes_first(world: World) -> None:
    limit = {"key": world.queue, "limit": 1}
    jobs = []
    for name, priority in (("a", 3), ("b", 3), ("c", 1)):
        payload = {"log": world.queue, "name": name}
        jobs.append(await world.submit("conf.limited", payload, concurrency=limit, priority=priority))
    await world.serve(limited)
    done = [await world.finished(job.id) for job in jobs]
    assert [job.state for job in done] == [State.SUCCEEDED] * 3
    log = LOG[world.queue]
    assert most_at_once(log) == 1 and sorted(log) == sorted(["+a", "-a", "+b", "-b", "+c", "-c"])
    assert log.index("+c") < log.index("+b")


async def test_the_job_submitted_last_says_how_many(world: World) -> None:
    jobs = []
    for count in (1, 1, 2):
        payload = {"log": world.queue, "name": f"{len(jobs)}"}
        jobs.append(
            await world.submit(
                "conf.limited", payload, delay="1s", concurrency={"key": world.queue, "limit": count}
            )
        )
    await world.serve(limited)
    for job in jobs:
        assert (await world.finished(job.id)).state is State.SUCCEEDED
    assert most_at_once(LOG[world.queue]) <= 2


async def test_a_job_that_is_tried_again_lets_another_go_meanwhile(world: World) -> None:
    limit = {"key": world.queue, "limit": 1}
    await world.serve(limited)
    payload = {"log": world.queue, "name": "fails", "failures": 1}
    retry = {"initial_interval": "3s", "jitter": 0}
    fails = await world.submit("conf.limited", payload, concurrency=limit, retry=retry)
    other = await world.submit("conf.limited", {"log": world.queue, "name": "x"}, concurrency=limit)
    assert (await world.finished(other.id)).state is State.SUCCEEDED
    assert (await world.finished(fails.id)).result == 2
    assert LOG[world.queue] == ["+fails", "-fails", "+x", "-x", "+fails", "-fails"]
