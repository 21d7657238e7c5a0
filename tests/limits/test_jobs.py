"""Jobs under the limit of their key, on the real server: how many run, who is next, and what frees a place."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.workflowservice.v1 import PauseActivityRequest, ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import RawValue
from temporalio.worker import Worker

from activities.limit_places import LimitPlaces
from duetime import Job, Snooze, handler
from duetime.contracts.concurrency import LINE, Ask, Line, limit_of_key
from duetime.contracts.instants import format_instant
from tests.support.jobs import NO_WAIT, Jobs, held, outcome_of, view_of
from tests.support.waiting import eventually
from tests.support.workers import serving


class Floor:
    """Counts who is at work at the same time, and lets them go."""

    def __init__(self) -> None:
        self.at_work: list[str] = []
        self.began: list[str] = []
        self.most = 0
        self.go = asyncio.Event()

    async def work(self, job_id: str) -> None:
        self.at_work.append(job_id)
        self.began.append(job_id)
        self.most = max(self.most, len(self.at_work))
        try:
            await self.go.wait()
            await asyncio.sleep(0.02)
        finally:
            self.at_work.remove(job_id)


@pytest.fixture
def floor() -> Floor:
    return Floor()


@pytest.fixture
def work(floor: Floor) -> Any:
    @handler("work")
    async def work(payload: dict[str, Any], job: Job) -> int:
        await floor.work(job.id)
        return job.attempt

    return work


async def line(client: Client, key: str, job: str | None = None) -> Line:
    return Line.model_validate(await client.get_workflow_handle(limit_of_key(key)).query(LINE, job))


async def in_line(client: Client, key: str, count: int) -> None:
    """Waits until so many wait for a place."""

    async def there() -> bool:
        try:
            return (await line(client, key)).waiting == count
        except Exception:  # nobody has asked yet
            return False

    await eventually(there)


async def test_at_most_so_many_at_once(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    limit = {"key": key, "limit": 2}
    handles = [await jobs.start("work", concurrency=limit) for _ in range(6)]
    async with serving(client, queue, work):
        await in_line(client, key, 4)
        await eventually(lambda: len(floor.at_work) == 2)
        free = await jobs.start("work", concurrency={"key": f"{key} other", "limit": 1})
        await eventually(lambda: free.id in floor.at_work)
        floor.go.set()
        ended = await asyncio.gather(*(outcome_of(handle) for handle in [*handles, free]))
    assert [outcome.result for outcome in ended] == [1] * 7
    assert floor.most == 3, "two of the one key, and one of the other"
    assert (await line(client, key)) == Line(limit=2, held=0, waiting=0, holders=[])


async def test_the_first_of_the_highest_priority_is_next(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    limit = {"key": key, "limit": 1}
    first = await jobs.start("work", concurrency=limit)
    async with serving(client, queue, work):
        await held(first)
        waiting = []
        for count, priority in enumerate([3, 4, 3, 1], start=1):
            waiting.append(await jobs.start("work", concurrency=limit, priority=priority))
            await in_line(client, key, count)
        await waiting[2].execute_update("move", {"priority": 2})
        await eventually(lambda: _is_at(client, key, waiting[2].id, 2))
        floor.go.set()
        await asyncio.gather(*(outcome_of(handle) for handle in waiting))
    assert floor.began == [handle.id for handle in (first, waiting[3], waiting[2], waiting[0], waiting[1])]


async def _is_at(client: Client, key: str, job_id: str, position: int) -> bool:
    return (await line(client, key, job_id)).position == position


async def test_a_job_that_will_be_tried_again_has_no_place_meanwhile(
    jobs: Jobs, client: Client, queue: str, key: str
) -> None:
    went: list[str] = []

    @handler("comes-back")
    async def comes_back(payload: dict[str, Any], job: Job) -> int:
        went.append(payload["name"])
        if payload["name"] == "fails" and job.attempt == 1:
            raise ConnectionError("hung up")
        if payload["name"] == "snoozes" and job.checkpoint is None:
            await job.save_checkpoint(1)
            raise Snooze("1h")
        return job.attempt

    limit, later = {"key": key, "limit": 1}, {"initial_interval": "1h", "max_interval": "1h"}
    async with serving(client, queue, comes_back):
        fails = await jobs.start("comes-back", {"name": "fails"}, concurrency=limit, retry=later)
        await eventually(lambda: "fails" in went)
        snoozes = await jobs.start("comes-back", {"name": "snoozes"}, concurrency=limit)
        await eventually(lambda: "snoozes" in went)
        assert (
            await outcome_of(await jobs.start("comes-back", {"name": "x"}, concurrency=limit))
        ).result == 1
        assert (await line(client, key)).held == 0
        for handle in (fails, snoozes):
            await handle.execute_update("run_now")
        failed, snoozed = await outcome_of(fails), await outcome_of(snoozes)
    assert (failed.result, failed.outcomes) == (2, ["failed", "succeeded"])
    assert (snoozed.result, snoozed.outcomes) == (1, ["snoozed", "succeeded"])
    assert len(set(failed.tokens)) == 2


async def test_a_job_fails_when_its_attempts_are_used_up(
    jobs: Jobs, client: Client, queue: str, key: str
) -> None:
    @handler("fails")
    async def fails(payload: dict[str, Any], job: Job) -> None:
        raise ConnectionError(f"hung up {job.attempt}")

    async with serving(client, queue, fails):
        limit = {"key": key, "limit": 1}
        ended = await jobs.run("fails", concurrency=limit, retry=NO_WAIT | {"max_attempts": 3})
    assert (ended.type, ended.message) == ("ConnectionError", "hung up 3")
    assert ended.outcomes == ["failed"] * 3 and [one.number for one in ended.attempts] == [1, 2, 3]


async def test_a_handler_in_another_language_is_tried_again_too(
    jobs: Jobs, client: Client, queue: str, key: str
) -> None:
    tries: list[int] = []

    @activity.defn(name="foreign")
    async def foreign(payload: dict[str, Any], job: dict[str, Any]) -> str:
        tries.append(activity.info().attempt)
        if len(tries) < 3:
            raise RuntimeError(f"no {len(tries)}")
        return "done"

    limit = {"key": key, "limit": 1}
    async with Worker(client, task_queue=queue, activities=[foreign]):
        ended = await jobs.run("foreign", concurrency=limit, retry=NO_WAIT)
        never = NO_WAIT | {"max_attempts": 5, "non_retryable": ["RuntimeError"]}
        tries.clear()
        refused = await jobs.run("foreign", concurrency=limit, retry=never)
    assert ended.result == "done" and ended.outcomes == ["failed", "failed", "succeeded"]
    assert refused.outcomes == ["failed"] and refused.message == "no 1"


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_what_waits_can_be_ended_and_the_line_moves_on(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any, how: str
) -> None:
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        first = await jobs.start("work", concurrency=limit)
        await held(first)
        second = await jobs.start("work", concurrency=limit)
        await in_line(client, key, 1)
        third = await jobs.start("work", concurrency=limit)
        await in_line(client, key, 2)
        await getattr(second, how)()
        await outcome_of(second)
        floor.go.set()
        await asyncio.gather(outcome_of(first), outcome_of(third))
    assert floor.began == [first.id, third.id]


async def test_a_job_that_is_cancelled_while_it_asks_leaves_the_line(
    jobs: Jobs, client: Client, queue: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, go_on, ask = asyncio.Event(), asyncio.Event(), LimitPlaces._ask

    async def slow(self: LimitPlaces, limit_id: str, asked: Ask) -> None:
        if limit_id == limit_of_key(key):
            asking.set()
            await go_on.wait()
        await ask(self, limit_id, asked)

    monkeypatch.setattr(LimitPlaces, "_ask", slow)
    handle = await jobs.start("work", concurrency={"key": key, "limit": 1})
    await asking.wait()
    await handle.cancel()
    go_on.set()
    assert (await outcome_of(handle)).status.name == "CANCELED"
    view = await view_of(handle)
    assert view is not None and view.error is not None and view.error.type == "Cancelled"
    await in_line(client, key, 0)
    assert (await line(client, key)).held == 0


async def test_the_place_of_a_job_that_was_terminated_is_found_free(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any, impatient: None
) -> None:
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        lost = await jobs.start("work", concurrency=limit, lease="2s")
        await held(lost)
        second = await jobs.start("work", concurrency=limit)
        await in_line(client, key, 1)
        await lost.terminate()
        await held(second)
        floor.go.set()
        await outcome_of(second)


async def test_the_place_of_a_job_that_was_reset_is_found_free(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any, impatient: None
) -> None:
    """Reset to its beginning, and moved before it asks: its run is another one, and it does not want the place."""
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        first = await jobs.start("work", concurrency=limit, delay="2s", lease="2s")
        await held(first)
        second = await jobs.start("work", concurrency=limit)
        await in_line(client, key, 1)
        await client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=first.id),
                workflow_task_finish_event_id=3,
                request_id=first.id,
                reason="a test",
            )
        )
        latest = client.get_workflow_handle(first.id)
        await latest.execute_update(
            "move", {"run_at": format_instant(datetime.now(UTC) + timedelta(hours=1))}
        )
        await held(second)
        floor.go.set()
        await outcome_of(second)
        await latest.execute_update("run_now")
        await outcome_of(latest)


async def test_a_job_that_waits_can_be_moved_away_and_comes_back(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        first = await jobs.start("work", concurrency=limit)
        await held(first)
        moved = await jobs.start("work", concurrency=limit)
        await in_line(client, key, 1)
        later = format_instant(datetime.now(UTC) + timedelta(hours=1))
        await moved.execute_update("move", {"run_at": later})
        await in_line(client, key, 0)
        await moved.execute_update("run_now")
        await in_line(client, key, 1)
        floor.go.set()
        assert (await outcome_of(moved)).result == 1
    assert floor.most == 1


async def test_the_deadline_and_the_queue_timeout_run_while_it_waits(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        first = await jobs.start("work", concurrency=limit)
        await held(first)
        expired, late = await asyncio.gather(
            jobs.run("work", concurrency=limit, deadline="1s"),
            jobs.run("work", concurrency=limit, queue_timeout="1s"),
        )
        await in_line(client, key, 0)
        floor.go.set()
        await outcome_of(first)
    assert expired.type == "DeadlineExceeded" and late.type == "QueueTimeout"
    assert "concurrency limit" in late.message and late.attempts == expired.attempts == []


async def test_what_is_left_of_the_queue_timeout_is_for_the_wait_for_a_worker(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    """No worker comes: the whole takes the timeout, not twice that."""
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        first = await jobs.start("work", concurrency=limit)
        await held(first)
    # Its worker is gone; its attempt was given back, and it waits for another, with its place.
    second = await jobs.start("work", concurrency=limit, queue_timeout="3s")
    await in_line(client, key, 1)
    await first.terminate()
    await client.get_workflow_handle(limit_of_key(key)).signal(
        "leave", {"job": first.id, "chain": (first.first_execution_run_id or "")[-12:], "number": 1_000}
    )
    ended = await outcome_of(second)
    assert ended.type == "QueueTimeout"
    scheduled = [event async for event in second.fetch_history_events() if event.event_type == 10]
    if scheduled:  # it got its place in time, on a machine that is quick enough
        left = scheduled[0].activity_task_scheduled_event_attributes.schedule_to_start_timeout.ToTimedelta()
        assert timedelta(seconds=1) <= left < timedelta(seconds=3)


async def test_a_job_that_is_paused_through_temporal_gives_its_attempt_back(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    """Its dispatch has one attempt; a pause must not be the end of it."""
    limit = {"key": key, "limit": 1}
    async with serving(client, queue, work):
        handle = await jobs.start("work", concurrency=limit, lease="2s")
        await held(handle)
        await client.workflow_service.pause_activity(
            PauseActivityRequest(
                namespace=client.namespace,
                execution=WorkflowExecution(workflow_id=handle.id),
                id="1",
                identity="somebody",
            )
        )
        await eventually(lambda: len(floor.began) == 2)
        floor.go.set()
        ended = await outcome_of(handle)
    assert ended.outcomes == ["interrupted", "succeeded"] and ended.result == 1


async def test_a_job_without_a_limit_pays_nothing(
    jobs: Jobs, client: Client, queue: str, floor: Floor, work: Any
) -> None:
    floor.go.set()
    async with serving(client, queue, work):
        handle = await jobs.start("work")
        await outcome_of(handle)
    kinds = Counter([event.event_type async for event in handle.fetch_history_events()])
    assert sum(kinds.values()) == 12, kinds


async def test_a_limit_started_by_hand_with_anything_serves_all_the_same(
    jobs: Jobs, client: Client, queue: str, key: str, floor: Floor, work: Any
) -> None:
    bad: list[list[Any]] = [
        [],
        ["x"],
        [{"limit": 1}],
        [RawValue(Payload(data=b"\xff"))],
        [1, 2],
        [{}, None, "x"],
    ]
    floor.go.set()
    async with serving(client, queue, work):
        for number, arguments in enumerate(bad):
            name = f"{key} {number}"
            limit: WorkflowHandle[Any, Any] = await client.start_workflow(
                "ConcurrencyLimit", args=arguments, id=limit_of_key(name), task_queue="duetime"
            )
            await limit.signal("ask", {"job": ""})
            await limit.signal("leave")
            assert (await jobs.run("work", concurrency={"key": name, "limit": 1})).result == 1
