"""Every attempt of a job is told: its number, worker, token, times, outcome and error."""

from typing import Any

from temporalio.client import Client

from duetime import Job, handler
from tests.support.jobs import NO_WAIT, Jobs
from tests.support.workers import serving


async def test_a_handler_that_fails_twice_lists_three_attempts(jobs: Jobs, client: Client) -> None:
    @handler("flaky")
    async def flaky(payload: dict[str, Any], job: Job) -> int:
        if job.attempt < 3:
            raise ConnectionError(f"hung up {job.attempt}")
        return job.attempt

    async with serving(client, jobs.queue, flaky):
        ended = await jobs.run("flaky", {}, retry=NO_WAIT)

    assert ended.result == 3
    assert ended.outcomes == ["failed", "failed", "succeeded"]
    assert [attempt.number for attempt in ended.attempts] == [1, 2, 3]
    assert [attempt.error.message for attempt in ended.attempts if attempt.error] == [
        "hung up 1",
        "hung up 2",
    ]
    assert ended.tokens == sorted(set(ended.tokens))
    for attempt in ended.attempts:
        assert attempt.worker == client.identity
        assert attempt.started_at is not None and attempt.finished_at is not None
        assert attempt.started_at < attempt.finished_at
