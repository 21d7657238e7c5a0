"""Lists, counts, batches and events: the same in the fake as in the real Duetime."""

from datetime import timedelta
from typing import Any

import pytest

from duetime import Client, JobSpec, State, errors
from duetime.client import JobEvent
from tests.client.handlers import ALL, GATES
from tests.client.worlds import FakeWorld, World
from tests.support.waiting import eventually

HOUR = timedelta(hours=1)


async def listed(world: World, count: int, **filters: Any) -> list[str]:
    """Ids that the filters hold on this queue, once there are `count` of them: the index is a moment behind."""

    ids: list[str] = []

    async def found() -> bool:
        ids[:] = [job.id async for job in world.client.jobs(queue=world.queue, page_size=2, **filters)]
        return len(ids) == count

    await eventually(found)
    return ids


async def test_lists_and_counts_hold_what_the_filters_say(world: World) -> None:
    await world.serve(*ALL)
    done = await world.submit("conf.echo", {"value": 1}, tags=["a"])
    await world.finished(done.id)
    failed = await world.submit("conf.raise", {"how": "reject"}, tags=["a", "b"])
    await world.finished(failed.id)
    later = [(await world.submit("conf.echo", delay="1h", tags=["b"])).id for _ in range(2)]

    assert await listed(world, 4) == [*reversed(later), failed.id, done.id]
    assert await listed(world, 2, state="scheduled") == [*reversed(later)]
    assert await listed(world, 2, state=["failed", "succeeded"]) == [failed.id, done.id]
    assert await listed(world, 1, tag=["a", "b"]) == [failed.id]
    assert await listed(world, 1, kind="conf.raise") == [failed.id]
    assert await listed(world, 0, created_before=done.created_at - HOUR) == []
    counts = await world.client.count(queue=world.queue, by="state")
    assert counts.total == 4
    assert counts.states is not None
    assert {state: count for state, count in counts.states.items() if count} == {
        State.SCHEDULED: 2,
        State.SUCCEEDED: 1,
        State.FAILED: 1,
    }
    assert (await world.client.count(queue=world.queue)).states is None


async def test_a_page_goes_on_where_the_last_one_ended(world: World) -> None:
    ids = [(await world.submit("conf.echo", delay="1h")).id for _ in range(3)]
    await listed(world, 3)
    first = await world.client.page(queue=world.queue, limit=2)
    assert [job.id for job in first.jobs] == [ids[2], ids[1]]
    assert first.next_cursor is not None
    second = await world.client.page(queue=world.queue, limit=2, cursor=first.next_cursor)
    assert ([job.id for job in second.jobs], second.next_cursor) == ([ids[0]], None)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"state": "done"}, "query state"),
        ({"created_after": "yesterday"}, "query created_after"),
        ({"stat": "failed"}, "query stat"),
        ({"cursor": "no cursor"}, "query cursor"),
    ],
)
async def test_a_bad_filter_is_pointed_at(world: World, query: dict[str, Any], pointer: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        await world.client.page(**query)
    assert [fault.pointer.split(".")[0] for fault in refused.value.errors] == [pointer]


async def test_a_batch_accepts_and_refuses_each_for_itself(world: World, job_id: str) -> None:
    await world.serve(*ALL)
    spec = JobSpec(kind="conf.echo", payload={"value": 2}, queue=world.queue)
    items = await world.client.batch(
        [
            {"kind": "conf.echo", "payload": {"value": 1}, "queue": world.queue, "id": job_id},
            spec,
            {"kind": "conf.echo", "queue": world.queue, "priority": 9},
            {"kind": "conf.echo", "queue": world.queue, "id": job_id},
        ]
    )
    assert [item.status for item in items] == [201, 201, 422, 409]
    assert items[0].accepted().id == job_id
    assert (await world.finished(items[1].accepted().id)).result == 2
    assert isinstance(items[2].error, errors.InvalidField)
    assert [fault.pointer for fault in items[2].error.errors] == ["/jobs/2/priority"]
    with pytest.raises(errors.IdInUse):
        items[3].accepted()


async def test_a_batch_that_is_repeated_under_its_key_makes_no_more_jobs(world: World, job_id: str) -> None:
    batch = [{"kind": "conf.echo", "queue": world.queue, "delay": "1h"}] * 2
    first = await world.client.batch(batch, idempotency_key=job_id)
    again = await world.client.batch(batch, idempotency_key=job_id)
    assert [item.status for item in (*first, *again)] == [201, 201, 200, 200]
    assert [item.accepted().run_id for item in first] == [item.accepted().run_id for item in again]
    assert first[0].accepted().id != first[1].accepted().id


async def test_a_job_is_followed_to_its_end(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.thread", delay="1s")
    seen = [event async for event in world.client.events(job.id)]
    assert (seen[0].name, seen[0].job.state) == ("state", State.SCHEDULED)
    assert (seen[-1].name, seen[-1].job.state, seen[-1].is_last) == ("done", State.SUCCEEDED, True)
    assert getattr(seen[-1].job, "result") == "done"  # noqa: B009 - only the last has one
    assert len({event.id for event in seen}) == len(seen)
    assert [event async for event in world.client.events(job.id, last_event_id=seen[-1].id)] == []
    assert [e.name async for e in world.client.events(job.id, last_event_id=seen[0].id)] == ["done"]


async def test_what_was_seen_is_not_told_again(world: World) -> None:
    await world.serve(*ALL)
    job = await world.submit("conf.hold")
    await world.reaches(job.id, State.RUNNING)
    first = await first_event(world.client, job.id)
    assert first.job.state is State.RUNNING
    GATES[job.id].set()
    following = await first_event(world.client, job.id, first.id)
    assert following.id != first.id


async def test_events_of_an_unknown_job_are_not_found(world: World, job_id: str) -> None:
    with pytest.raises(errors.NotFound):
        await first_event(world.client, job_id)


async def first_event(client: Client, job_id: str, last: str | None = None) -> JobEvent:
    events = client.events(job_id, last_event_id=last)
    try:
        return await anext(events)
    finally:
        await events.aclose()


async def test_the_fake_lists_by_its_own_clock(fake: FakeWorld) -> None:
    early = await fake.submit("conf.echo", delay="1000d")
    await fake.fake.advance("1h")
    late = await fake.submit("conf.echo", delay="1000d")
    assert late.created_at - early.created_at == HOUR
    found = [job.id async for job in fake.client.jobs(created_after=late.created_at)]
    assert found == [late.id]


async def test_failed_jobs_are_counted_by_error(world: World) -> None:
    await world.serve(*ALL)
    for _ in range(2):
        await world.finished((await world.submit("conf.bad-result")).id)

    async def counted() -> bool:
        return (await world.client.count(by="error", queue=world.queue)).total == 2

    await eventually(counted)
    counts = await world.client.count(by="error", queue=world.queue, state="failed")
    assert [(group.type, group.count) for group in counts.errors or []] == [("InvalidResult", 2)]
    with pytest.raises(errors.InvalidField, match="failed and expired"):
        await world.client.count(by="error", state="running")
