"""What callers can do with jobs, and what is refused: the same in the fake as in the real Duetime."""

from datetime import timedelta
from typing import Any

import pytest

from duetime import JobSpec, State, errors
from tests.client.handlers import ALL, GATES, SEEN
from tests.client.worlds import World

HOUR = timedelta(hours=1)


# -- submitting -----------------------------------------------------------------------------------------


async def test_the_client_makes_ids_that_sort_by_time(world: World) -> None:
    first, second = [await world.submit("conf.echo", delay="1h") for _ in range(2)]
    assert first.id < second.id
    assert first.created is second.created is True


async def test_an_open_id_is_refused_given_back_or_replaced(world: World, job_id: str) -> None:
    first = await world.submit("conf.echo", {"value": 1}, id=job_id, delay="1h")
    with pytest.raises(errors.IdInUse, match="still open") as refused:
        await world.submit("conf.echo", {"value": 2}, id=job_id)
    assert refused.value.job is not None
    assert refused.value.job.run_id == first.run_id
    there = await world.submit("conf.echo", {"value": 2}, id=job_id, on_conflict="return")
    assert (there.run_id, there.created, there.payload) == (first.run_id, False, {"value": 1})
    replaced = await world.submit("conf.echo", {"value": 3}, id=job_id, delay="2h", on_conflict="replace")
    assert replaced.run_id != first.run_id
    assert (await world.client.get(job_id)).payload == {"value": 3}


async def test_a_finished_id_is_used_again_only_on_purpose(world: World, job_id: str) -> None:
    await world.serve(*ALL)
    await world.finished((await world.submit("conf.echo", {"value": 1}, id=job_id)).id)
    for on_conflict in ("reject", "return", "replace"):
        with pytest.raises(errors.IdInUse, match="finished"):
            await world.submit("conf.echo", id=job_id, on_conflict=on_conflict)
    await world.submit("conf.echo", {"value": 2}, id=job_id, reuse_id=True)
    done = await world.finished(job_id)
    assert (done.state, done.result) == (State.SUCCEEDED, 2)
    assert len({seen["key"] for seen in SEEN[job_id]}) == 2


async def test_replacing_takes_the_lease_from_a_running_handler(world: World, job_id: str) -> None:
    await world.serve(*ALL)
    await world.submit("conf.hold", {"finishes": True}, id=job_id)
    await world.reaches(job_id, State.RUNNING)
    await world.submit("conf.echo", {"value": "new"}, id=job_id, on_conflict="replace")
    done = await world.finished(job_id)
    assert (done.kind, done.result) == ("conf.echo", "new")


async def test_a_key_makes_one_job_of_many_calls(world: World, job_id: str) -> None:
    key = f"key of {job_id}"
    first = await world.submit("conf.echo", {"value": 1}, idempotency_key=key, delay="1h")
    again = await world.submit("conf.echo", {"value": 1}, idempotency_key=key, delay="1h")
    assert (again.id, again.run_id) == (first.id, first.run_id)
    assert (first.created, again.created) == (True, False)
    with pytest.raises(errors.KeyReused):
        await world.submit("conf.echo", {"value": 2}, idempotency_key=key, delay="1h")
    with pytest.raises(errors.InvalidField, match="Idempotency-Key"):
        await world.submit("conf.echo", idempotency_key="ä")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"payload": {"percent": 101}}, "/payload/percent"),
        ({"payload": {"percent": "7"}}, "/payload/percent"),
        ({"priority": 6}, "/priority"),
        ({"delay": "soon"}, "/delay"),
        ({"delay": "6000d"}, "/delay"),
        ({"run_at": "2027-01-01T00:00:00"}, "/run_at"),
        ({"id": "a/b"}, "/id"),
        ({"retry": {"max_attempts": 0}}, "/retry/max_attempts"),
        ({"after": ["nobody-has-this-id"]}, "/after/0"),
        ({"taggs": ["x"]}, "/taggs"),
        ({"notify": [{"url": "https://example.org"}]}, "/notify"),
    ],
)
async def test_a_bad_field_is_pointed_at(world: World, fields: dict[str, Any], pointer: str) -> None:
    await world.serve(*ALL)
    with pytest.raises(errors.InvalidField) as refused:
        await world.submit("conf.echo", **fields)
    assert [fault.pointer for fault in refused.value.errors] == [pointer]
    assert refused.value.errors[0].message
    assert refused.value.status == 422


async def test_a_payload_over_its_bound_is_too_large(world: World) -> None:
    with pytest.raises(errors.TooLarge, match="262,144"):
        await world.submit("conf.echo", {"value": "x" * 262_144})


async def test_who_serves_nothing_is_warned_of(world: World) -> None:
    job = await world.submit("conf.nobody-has-this", delay="1h")
    assert any("conf.nobody-has-this" in warning for warning in job.warnings)
    assert any(world.queue in warning for warning in job.warnings)


async def test_defaults_of_the_kind_hold_where_nothing_is_said(world: World) -> None:
    await world.serve(*ALL)
    assert (await world.submit("conf.hang", delay="1h")).max_attempts == 1
    assert (await world.submit("conf.hang", delay="1h", retry={"max_attempts": 3})).max_attempts == 3


async def test_a_model_is_submitted_as_it_is(world: World, job_id: str) -> None:
    spec = JobSpec(kind="conf.echo", queue=world.queue, id=job_id, delay=HOUR, tags=["model"])
    job = await world.client.submit_spec(spec)
    assert (job.id, job.queue, job.tags, job.state) == (job_id, world.queue, ["model"], State.SCHEDULED)
    assert job.due_at - job.created_at == pytest.approx(HOUR, abs=timedelta(seconds=1))


# -- order ----------------------------------------------------------------------------------------------


async def test_a_job_comes_after_others(world: World, job_id: str) -> None:
    await world.serve(*ALL)
    first = await world.submit("conf.hold", id=f"{job_id}-1")
    second = await world.submit("conf.echo", {"value": 2}, after=[first.id])
    await world.reaches(first.id, State.RUNNING)
    assert (await world.client.get(second.id)).state is State.WAITING
    GATES[first.id].set()
    assert (await world.finished(second.id)).state is State.SUCCEEDED
    assert (await world.client.get(first.id)).state is State.SUCCEEDED


async def test_a_job_after_one_that_failed_fails(world: World) -> None:
    await world.serve(*ALL)
    first = await world.submit("conf.raise", {"how": "reject"}, delay="1s")
    second = await world.submit("conf.echo", after=[first.id])
    done = await world.finished(second.id)
    assert (done.state, done.attempts) == (State.FAILED, [])
    assert done.error is not None
    assert done.error.type == "DependencyFailed"
    assert first.id in done.error.message


# -- commands -------------------------------------------------------------------------------------------


async def test_a_scheduled_job_is_moved(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.echo", delay="2h")
    moved = await world.client.move(job.id, delay="1h", priority=1)
    assert (moved.state, moved.priority) == (State.SCHEDULED, 1)
    assert moved.due_at < job.due_at
    await world.client.move(job.id, run_at=job.created_at)
    done = await world.finished(job.id)
    assert (done.state, done.due_at) == (State.SUCCEEDED, job.created_at)
    with pytest.raises(errors.WrongState) as late:
        await world.client.move(job.id, priority=2)
    assert late.value.job is not None
    assert late.value.job.state is State.SUCCEEDED


async def test_a_queued_job_is_moved_away(world: World) -> None:
    job = await world.submit("conf.echo")
    await world.reaches(job.id, State.QUEUED)
    assert (await world.client.move(job.id, delay="1h")).state is State.SCHEDULED
    with pytest.raises(errors.InvalidField):
        await world.client.move(job.id)


async def test_a_scheduled_job_is_started_now(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.echo", delay="1h")
    await world.client.run_now(job.id)
    done = await world.finished(job.id)
    assert done.state is State.SUCCEEDED
    assert done.due_at < job.due_at
    with pytest.raises(errors.WrongState):
        await world.client.run_now(job.id)


async def test_the_next_attempt_is_started_now(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit(
        "conf.fail", {"times": 1}, retry={"initial_interval": "1h", "max_interval": "1h"}
    )
    await world.reaches(job.id, State.RETRYING)
    await world.client.run_now(job.id)
    done = await world.finished(job.id)
    assert (done.state, len(done.attempts)) == (State.SUCCEEDED, 2)


async def test_a_snoozed_job_is_woken(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.raise", {"how": "snooze"})
    await world.reaches(job.id, State.RETRYING)
    await world.client.run_now(job.id)
    assert (await world.finished(job.id)).attempt == 1


async def test_what_no_attempt_holds_is_cancelled_at_once(world: World) -> None:
    job = await world.submit("conf.echo", delay="1h")
    cancelled = await world.client.cancel(job.id, reason="not wanted any more")
    assert (cancelled.state, cancelled.attempts) == (State.CANCELLED, [])
    assert cancelled.error is not None
    assert (cancelled.error.type, cancelled.error.message) == ("Cancelled", "not wanted any more")
    assert cancelled.finished_at is not None
    assert (await world.client.cancel(job.id)).state is State.CANCELLED


async def test_a_running_handler_is_told_and_cleans_up(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.hold")
    await world.reaches(job.id, State.RUNNING)
    await world.client.cancel(job.id)
    done = await world.finished(job.id)
    assert (done.state, [a.outcome.value for a in done.attempts]) == (State.CANCELLED, ["cancelled"])


async def test_a_handler_that_finishes_all_the_same_succeeds(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.hold", {"finishes": True})
    await world.reaches(job.id, State.RUNNING)
    await world.client.cancel(job.id)
    done = await world.finished(job.id)
    assert (done.state, done.result) == (State.SUCCEEDED, "finished all the same")
    with pytest.raises(errors.WrongState):
        await world.client.cancel(job.id)


async def test_force_does_not_wait_for_the_handler(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.hold")
    running = await world.reaches(job.id, State.RUNNING)
    assert running.lease is not None
    assert running.lease.fencing_token == SEEN[job.id][0]["token"]
    cancelled = await world.client.cancel(job.id, mode="force")
    assert (cancelled.state, [a.outcome.value for a in cancelled.attempts]) == (
        State.CANCELLED,
        ["cancelled"],
    )


@pytest.mark.parametrize(("begin", "result"), [("start", 1), ("checkpoint", 3)])
async def test_a_failed_job_is_redriven(world: World, begin: Any, result: int) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.checkpoint", {"until": 3}, retry={"max_attempts": 1}, priority=2)
    failed = await world.finished(job.id)
    assert (failed.state, failed.checkpoint) == (State.FAILED, 1)
    with pytest.raises(errors.WrongState, match="newest run"):
        await world.client.retry(job.id, run_id="another")
    again = await world.client.retry(job.id, begin=begin, run_id=failed.run_id)
    assert again.run_id != failed.run_id
    second = await world.finished(job.id)
    assert (second.attempt, second.priority) == (1, 2)
    await world.client.retry(job.id, begin=begin)
    third = await world.finished(job.id)
    assert third.checkpoint == result
    seen = SEEN[job.id]
    assert len({each["key"] for each in seen}) == 1
    assert [each["token"] for each in seen] == sorted({each["token"] for each in seen})


async def test_only_a_final_job_is_redriven_and_a_succeeded_one_on_purpose(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.echo", {"value": 1}, delay="1h")
    with pytest.raises(errors.WrongState, match="still open"):
        await world.client.retry(job.id)
    await world.client.run_now(job.id)
    await world.finished(job.id)
    with pytest.raises(errors.WrongState, match="succeeded"):
        await world.client.retry(job.id)
    await world.client.retry(job.id, force=True)
    assert (await world.finished(job.id)).state is State.SUCCEEDED
    assert len(SEEN[job.id]) == 2


async def test_an_unknown_id_is_not_found_by_any_call(world: World, job_id: str) -> None:
    client = world.client
    for call in (client.get, client.result, client.run_now, client.cancel, client.retry, client.wait_for):
        with pytest.raises(errors.NotFound):
            await call(job_id)
    with pytest.raises(errors.NotFound):
        await client.move(job_id, priority=1)


# -- waiting --------------------------------------------------------------------------------------------


async def test_a_wait_that_is_over_tells_where_the_job_is(world: World) -> None:
    job = await world.submit("conf.echo", delay="1h")
    assert (await world.client.result(job.id)).state is State.SCHEDULED
    with pytest.raises(errors.WaitTimeout) as over:
        await world.client.wait_for(job.id, "1s")
    assert (over.value.job.id, over.value.job.state) == (job.id, State.SCHEDULED)
    assert isinstance(over.value, TimeoutError)


async def test_run_gives_the_result_or_says_why_there_is_none(world: World) -> None:
    await world.serve(*ALL)
    run = world.client.run
    assert await run("conf.echo", {"value": [1]}, queue=world.queue, wait="60s") == [1]
    with pytest.raises(errors.JobFailed, match="Rejected: never") as failed:
        await run("conf.raise", {"how": "reject"}, queue=world.queue, wait="60s")
    assert (failed.value.state, len(failed.value.attempts)) == (State.FAILED, 1)


async def test_kinds_are_told_with_their_schema(world: World) -> None:
    await world.serve(*ALL)
    kinds = {kind.kind: kind for kind in await world.client.kinds()}
    (served,) = [on for on in kinds["conf.echo"].queues if on.queue == world.queue]
    assert served.payload_schema is not None
    assert served.payload_schema["properties"]["percent"]["maximum"] == 100
    assert kinds["conf.echo"].description == "Returns what it is given."
