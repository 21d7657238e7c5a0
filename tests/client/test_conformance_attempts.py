"""What becomes of a job's attempts: the same in the fake as in the real Duetime."""

from datetime import UTC, datetime, timedelta

import pytest

from duetime import State
from tests.client.handlers import ALL, SEEN
from tests.client.worlds import World

SECOND = timedelta(seconds=1)


def outcomes(job: object) -> list[str]:
    return [attempt.outcome.value for attempt in job.attempts]  # type: ignore[attr-defined]


async def test_a_job_for_now_succeeds(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit(
        "conf.echo", {"value": {"rows": [1, 2.5, None, "ä"]}}, tags=["a", "b"], priority=2
    )
    done = await world.finished(job.id)
    assert done.state is State.SUCCEEDED
    assert done.result == {"rows": [1, 2.5, None, "ä"]}
    assert (done.attempt, outcomes(done), done.error) == (1, ["succeeded"], None)
    assert (done.tags, done.priority, done.payload) == (
        ["a", "b"],
        2,
        {"value": {"rows": [1, 2.5, None, "ä"]}},
    )
    assert done.run_id == job.run_id
    assert done.finished_at is not None
    assert done.started_at is not None
    assert done.started_at <= done.finished_at
    (attempt,) = done.attempts
    assert (attempt.number, attempt.fencing_token) == (1, SEEN[job.id][0]["token"])
    assert attempt.worker


async def test_a_job_is_not_run_before_it_is_due(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.echo", delay="1s")
    assert job.state is State.SCHEDULED
    assert job.started_at is None
    assert timedelta(0) < job.due_at - job.created_at <= SECOND
    done = await world.finished(job.id)
    assert done.started_at is not None
    assert done.started_at >= job.due_at
    assert SEEN[job.id][0]["due_at"] == done.due_at == job.due_at


async def test_a_time_in_the_past_runs_now_and_says_how_late(world: World) -> None:
    await world.serve(*ALL)
    past = datetime(2026, 1, 1, tzinfo=UTC)
    job = await world.submit("conf.echo", run_at=past)
    assert job.state is State.QUEUED
    assert job.due_at == past
    assert job.late_by is not None
    assert job.late_by > timedelta(days=1)
    done = await world.finished(job.id)
    assert done.state is State.SUCCEEDED
    assert done.late_by is not None
    assert done.late_by > timedelta(days=1)


async def test_a_handler_in_a_thread_saves_and_shows(world: World) -> None:
    await world.serve(*ALL)
    done = await world.finished((await world.submit("conf.thread")).id)
    assert (done.state, done.result, done.checkpoint) == (State.SUCCEEDED, "done", {"from": "a thread"})
    assert done.progress is not None
    assert (done.progress.done, done.progress.total, done.progress.message) == (1, 2, "half way")


async def test_failures_are_tried_again_after_growing_waits(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.fail", {"times": 2})
    waiting = await world.reaches(job.id, State.RETRYING)
    assert waiting.next_attempt_at is not None
    assert waiting.error is not None
    assert waiting.error.type == "ConnectionError"
    done = await world.finished(job.id)
    assert (done.state, done.result, done.attempt) == (State.SUCCEEDED, "at attempt 3", 3)
    assert outcomes(done) == ["failed", "failed", "succeeded"]
    assert [attempt.error.message for attempt in done.attempts if attempt.error] == ["attempt 1", "attempt 2"]
    starts = [attempt.started_at for attempt in done.attempts if attempt.started_at]
    ends = [attempt.finished_at for attempt in done.attempts if attempt.finished_at]
    assert starts[1] - ends[0] >= 0.9 * SECOND
    assert starts[2] - ends[1] >= 1.9 * SECOND
    tokens = [seen["token"] for seen in SEEN[job.id]]
    assert tokens == sorted(set(tokens)) == [attempt.fencing_token for attempt in done.attempts]
    assert len({seen["key"] for seen in SEEN[job.id]}) == 1


async def test_when_the_attempts_are_used_up_the_job_fails(world: World) -> None:
    await world.serve(*ALL)
    done = await world.finished((await world.submit("conf.fail", {"times": 9}, retry={"max_attempts": 2})).id)
    assert (done.state, done.attempt, done.max_attempts) == (State.FAILED, 2, 2)
    assert done.error is not None
    assert (done.error.type, done.error.message) == ("ConnectionError", "attempt 2")
    assert done.error.stack is not None
    assert "in fail" in done.error.stack
    assert outcomes(done) == ["failed", "failed"]


async def test_a_type_that_no_retry_mends_fails_at_once(world: World) -> None:
    await world.serve(*ALL)
    retry = {"non_retryable": ["ConnectionError"]}
    done = await world.finished((await world.submit("conf.fail", {"times": 9}, retry=retry)).id)
    assert (done.state, outcomes(done)) == (State.FAILED, ["failed"])


@pytest.mark.parametrize(
    ("how", "state", "expected", "used"),
    [
        ("snooze", State.SUCCEEDED, ["snoozed", "succeeded"], 1),
        ("retry_after", State.SUCCEEDED, ["failed", "succeeded"], 2),
        ("exit", State.SUCCEEDED, ["failed", "succeeded"], 2),
        ("reject", State.FAILED, ["failed"], 1),
    ],
)
async def test_a_handler_steers(world: World, how: str, state: State, expected: list[str], used: int) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.raise", {"how": how})
    done = await world.finished(job.id)
    assert (done.state, outcomes(done), done.attempt) == (state, expected, used)
    assert done.checkpoint == {"step": 1}
    if how == "reject":
        assert done.error is not None
        assert (done.error.type, done.error.message) == ("Rejected", "never")
    else:
        assert [seen["checkpoint"] for seen in SEEN[job.id]] == [None, {"step": 1}]
        assert [seen["attempt"] for seen in SEEN[job.id]] == [1, used]


async def test_a_result_that_is_no_json_is_final(world: World) -> None:
    await world.serve(*ALL)
    done = await world.finished((await world.submit("conf.bad-result")).id)
    assert (done.state, done.result, outcomes(done)) == (State.FAILED, None, ["failed"])
    assert done.error is not None
    assert done.error.type == "InvalidResult"


async def test_an_attempt_has_its_timeout(world: World) -> None:
    await world.serve(*ALL)
    done = await world.finished((await world.submit("conf.hold", timeout="1s", retry={"max_attempts": 1})).id)
    assert (done.state, outcomes(done)) == (State.FAILED, ["timed_out"])
    assert done.error is not None
    assert done.error.type == "AttemptTimeout"


async def test_a_handler_that_gives_no_sign_loses_its_lease(world: World) -> None:
    await world.serve(*ALL)
    done = await world.finished((await world.submit("conf.hang")).id)
    assert (done.state, outcomes(done), done.attempt) == (State.FAILED, ["lease_lost"], 1)
    assert done.error is not None
    assert done.error.type == "LeaseLost"


async def test_a_job_that_no_worker_takes_in_time_fails(world: World) -> None:
    done = await world.finished((await world.submit("conf.echo", queue_timeout="1s")).id)
    assert (done.state, outcomes(done), done.attempt, done.started_at) == (State.FAILED, [], 0, None)
    assert done.error is not None
    assert done.error.type == "QueueTimeout"


async def test_a_worker_without_the_handler_gives_the_job_back_at_no_cost(world: World) -> None:
    await world.serve(ALL[0])
    job = await world.submit("conf.thread", {})
    waiting = await world.reaches(job.id, State.RETRYING)
    assert (waiting.attempt, waiting.attempts) == (0, [])
    assert waiting.next_attempt_at is not None
    done = await world.finished((await world.client.cancel(job.id)).id)
    assert done.state is State.CANCELLED


async def test_a_deadline_ends_a_job_that_waits_for_its_next_attempt(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.fail", {"times": 9}, retry={"initial_interval": "30s"}, deadline="2s")
    done = await world.finished(job.id)
    assert (done.state, outcomes(done)) == (State.EXPIRED, ["failed"])
    assert done.error is not None
    assert done.error.type == "DeadlineExceeded"
    assert done.finished_at is not None
    assert done.finished_at >= done.due_at + 2 * SECOND
