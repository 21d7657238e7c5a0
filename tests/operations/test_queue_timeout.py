"""A queue timeout does not run while the queue is paused."""

from datetime import UTC, datetime, timedelta

import pytest

from duetime.decisions import How
from tests.operations.bench import Bench, hold, until
from workflows.queue_wait import QueueWait

S = timedelta(seconds=1)


async def test_a_job_outlives_a_pause_longer_than_its_queue_timeout(bench: Bench) -> None:
    """The server's own timer ends two waits of it, and the job is still there for the worker that comes."""
    await bench.post(f"/v1/queues/{bench.queue}:pause", {"reason": "longer than the timeout"})
    job_id = await bench.submit(queue_timeout="1s")

    async def waits_ended() -> int:
        history = await bench.client.get_workflow_handle(job_id).fetch_history()
        return sum(event.HasField("activity_task_timed_out_event_attributes") for event in history.events)

    await until(waits_ended, lambda count: count >= 2)
    assert (await bench.job(job_id))["state"] == "queued"
    await bench.backlog(paused=1)
    assert (await bench.why(job_id))["blocked"][0]["reason"] == "queue_paused"
    async with bench.worker():
        await bench.post(f"/v1/queues/{bench.queue}:resume")
        assert (await bench.in_state(job_id, "succeeded", "failed"))["state"] == "succeeded"


async def test_a_pause_counts_for_nothing_either_once_the_job_was_given_back(bench: Bench) -> None:
    job_id = await bench.submit(queue_timeout="2s")
    async with bench.worker(hold):
        await bench.blocked_by(job_id, "no_handler")
    begun = datetime.now(UTC)
    await bench.post(f"/v1/queues/{bench.queue}:pause", {"reason": "until somebody has a handler"})

    async def outlived() -> bool:
        return datetime.now(UTC) - begun > timedelta(seconds=4)

    await until(outlived)
    assert (await bench.job(job_id))["state"] in ("queued", "retrying")
    async with bench.worker():
        await bench.post(f"/v1/queues/{bench.queue}:resume")
        assert (await bench.in_state(job_id, "succeeded", "failed"))["state"] == "succeeded"


async def test_without_a_pause_it_fails_in_time(bench: Bench) -> None:
    job_id = await bench.submit(queue_timeout="1s")
    job = await bench.in_state(job_id, "failed")
    assert job["error"]["type"] == "QueueTimeout"


async def test_after_a_pause_the_rest_of_the_time_counts(bench: Bench) -> None:
    await bench.post(f"/v1/queues/{bench.queue}:pause", {"reason": "a while"})
    job_id = await bench.submit(queue_timeout="1s")
    await bench.backlog(paused=1)
    await bench.post(f"/v1/queues/{bench.queue}:resume")
    job = await bench.in_state(job_id, "failed")
    assert job["error"]["type"] == "QueueTimeout"


async def test_a_job_that_waits_on_can_be_cancelled_and_moved(bench: Bench) -> None:
    await bench.post(f"/v1/queues/{bench.queue}:pause", {"reason": "a while"})
    moved, stopped = await bench.submit(queue_timeout="1s"), await bench.submit(queue_timeout="1s")
    for job_id in (moved, stopped):
        handle = bench.client.get_workflow_handle(job_id)
        await until(handle.describe, lambda described: described.history_length > 12)
    await bench.post(f"/v1/jobs/{stopped}:cancel")
    assert (await bench.job(stopped))["state"] == "cancelled"
    answer = await bench.http.patch(f"/v1/jobs/{moved}", json={"delay": "1h"})
    assert answer.status_code == 200 and answer.json()["state"] == "scheduled", answer.text
    await bench.backlog(scheduled=1)


def test_what_is_left_of_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = datetime(2027, 1, 15, tzinfo=UTC)
    now = begun
    monkeypatch.setattr("temporalio.workflow.now", lambda: now)
    wait = QueueWait(10 * S)
    assert (wait.left(begun), QueueWait(None).left(begun)) == (10 * S, None)
    now = begun + 4 * S
    assert wait.left(begun) == 6 * S
    now = begun + 20 * S
    assert wait.left(begun) == timedelta(0)
    wait.since = begun
    wait.anew()
    assert wait.since is None and wait.span == 10 * S


@pytest.mark.parametrize("timeout", [S, 60 * S, 3600 * S])
def test_a_long_pause_costs_few_looks_and_ends_late_by_an_hour_at_most(timeout: timedelta) -> None:
    """Paused a while after the job came, for a week; then nobody takes it."""
    wait, week = QueueWait(timeout), timedelta(days=7)
    begin, end = timeout / 2, timeout / 2 + week
    now, looks, goes_on = timedelta(0), 0, True
    while goes_on:
        looks += 1
        assert wait.span is not None
        before, now = now, now + wait.span
        paused = max(timedelta(0), min(now, end) - max(before, begin))
        goes_on = wait.extend(paused, lasts=begin <= now < end)
    late = now - (timeout + week)
    assert -S <= late <= timedelta(hours=1)
    assert looks <= 200


def test_a_wait_that_was_not_paused_ends_at_once() -> None:
    wait = QueueWait(10 * S)
    assert wait.span == 10 * S
    assert not wait.extend(timedelta(0), lasts=False)
    wait.leave(How.FAILED)
    assert wait.enter() == 10 * S
    assert wait.extend(4 * S, lasts=False) and wait.span == 4 * S
    assert not wait.extend(timedelta(0), lasts=False)


def test_a_wait_that_another_run_takes_over_is_as_long_as_before() -> None:
    begun = datetime(2027, 1, 15, tzinfo=UTC)
    wait = QueueWait(10 * S, begun)
    assert wait.as_one() == begun
    assert wait.extend(4 * S, lasts=False) and wait.span == 4 * S
    assert wait.as_one() is None, "what is left has not begun"
    wait.since = begun + 14 * S
    assert wait.as_one() == begun + 8 * S, "of ten seconds, six are over"
    wait.leave(How.FAILED)
    assert wait.as_one() is None and wait.span == 10 * S
    assert QueueWait(None, begun).as_one() is None
