"""What only the fake has: a clock to turn, workers that die on cue, and a word when nothing can happen any more."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duetime import Client, Job, Snooze, State, handler
from duetime.contracts.states import AttemptOutcome
from duetime.testing import FakeDuetime, Stuck, WorkerDied

START = datetime(2027, 1, 15, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
RAN: list[tuple[str, datetime]] = []


@pytest.fixture
def fake() -> FakeDuetime:
    RAN.clear()
    return FakeDuetime(now=START)


@pytest.fixture
async def client(fake: FakeDuetime) -> Client:
    return fake.client()


def noting(fake: FakeDuetime) -> Any:
    @handler("fake.note")
    async def note(payload: dict[str, Any], job: Job) -> None:
        RAN.append((job.id, fake.now))

    return note


async def test_jobs_run_at_their_time_and_not_before(fake: FakeDuetime, client: Client) -> None:
    fake.register(noting(fake))
    for name, delay in (("c", "3h"), ("a", "1h"), ("b", "90m")):
        await client.submit("fake.note", id=name, delay=delay)
    await fake.run_due()
    assert RAN == []
    await fake.advance("2h")
    assert RAN == [("a", START + HOUR), ("b", START + 1.5 * HOUR)]
    assert fake.now == START + 2 * HOUR
    await fake.run_due(until=START + 10 * HOUR)
    assert RAN[2:] == [("c", START + 3 * HOUR)]
    assert fake.now == START + 10 * HOUR


async def test_urgent_ones_come_first(fake: FakeDuetime, client: Client) -> None:
    fake.register(noting(fake))
    for name, priority in (("low", 5), ("first", 1), ("second", 1), ("middle", 3)):
        await client.submit("fake.note", id=name, priority=priority)
    await fake.run_due()
    assert [name for name, _ in RAN] == ["first", "second", "middle", "low"]


async def test_waiting_is_what_lets_time_pass_for_code_under_test(fake: FakeDuetime, client: Client) -> None:
    fake.register(noting(fake))
    job = await client.submit("fake.note", delay="400d")
    done = await client.wait_for(job.id)
    assert (done.state, done.started_at, fake.now) == (
        State.SUCCEEDED,
        START + 400 * 24 * HOUR,
        START + 400 * 24 * HOUR,
    )


async def test_what_was_submitted_can_be_looked_at(fake: FakeDuetime, client: Client) -> None:
    await client.submit("mail.send", {"to": "a@example.org"}, run_at=START + HOUR)
    await client.submit("report.build")
    (mail,) = fake.jobs("mail.send")
    assert (mail.payload, mail.due_at) == ({"to": "a@example.org"}, START + HOUR)
    assert [job.kind for job in fake.jobs()] == ["mail.send", "report.build"]
    assert fake.job(mail.id) == mail


async def test_a_worker_dies_and_the_next_goes_on_from_the_checkpoint(
    fake: FakeDuetime, client: Client
) -> None:
    @handler("fake.dies", lease="30s", retry={"initial_interval": "10s", "jitter": 0.0})
    async def dies(payload: dict[str, Any], job: Job) -> Any:
        if job.attempt == 1:
            await job.save_checkpoint("half way")
            raise WorkerDied
        return job.checkpoint

    fake.register(dies)
    job = await client.submit("fake.dies")
    running = await fake.reach(job.id, State.RUNNING)
    assert running.lease is not None
    await fake.run_due()
    assert fake.job(job.id).state is State.RUNNING  # nobody knows yet
    done = await fake.finish(job.id)
    assert (done.result, done.attempt) == ("half way", 2)
    assert [attempt.outcome for attempt in done.attempts] == [
        AttemptOutcome.LEASE_LOST,
        AttemptOutcome.SUCCEEDED,
    ]
    assert done.finished_at == START + timedelta(seconds=40)


async def test_ten_workers_that_die_unheard_of_are_enough(fake: FakeDuetime, client: Client) -> None:
    @handler("fake.poison")
    async def poison(payload: dict[str, Any]) -> None:
        raise WorkerDied(acknowledged=False)

    fake.register(poison)
    done = await client.wait_for((await client.submit("fake.poison")).id)
    assert done.error is not None
    assert (done.error.type, len(done.attempts), done.attempt) == ("WorkerLost", 10, 0)


async def test_a_job_that_snoozes_for_a_month_costs_no_time(fake: FakeDuetime, client: Client) -> None:
    @handler("fake.sleepy")
    async def sleepy(payload: dict[str, Any], job: Job) -> int:
        if fake.now < START + timedelta(days=30):
            raise Snooze("1d")
        return len(fake.job(job.id).attempts)

    fake.register(sleepy)
    assert await client.run("fake.sleepy") == 31


async def test_a_handler_may_wait_for_other_jobs(fake: FakeDuetime, client: Client) -> None:
    @handler("fake.outer")
    async def outer(payload: dict[str, Any], job: Job) -> list[str]:
        inner = [await client.submit("fake.note", delay=delay) for delay in ("2h", "1h")]
        return [(await client.wait_for(each.id)).state.value for each in inner]

    fake.register(outer, noting(fake))
    assert await client.run("fake.outer") == ["succeeded", "succeeded"]
    assert fake.now == START + 2 * HOUR


async def test_the_clock_stands_still_while_a_handler_runs(fake: FakeDuetime, client: Client) -> None:
    gate = asyncio.Event()

    @handler("fake.gated")
    async def gated(payload: dict[str, Any]) -> None:
        await gate.wait()

    fake.register(gated, noting(fake))
    job = await client.submit("fake.gated")
    await client.submit("fake.note", delay="1h")
    advancing = asyncio.ensure_future(fake.advance("2h"))
    await fake.reach(job.id, State.RUNNING)
    assert (fake.now, RAN) == (START, [])
    gate.set()
    await advancing
    assert (fake.job(job.id).finished_at, fake.now, len(RAN)) == (START, START + 2 * HOUR, 1)


async def test_waiting_for_what_nothing_can_finish_says_so(fake: FakeDuetime, client: Client) -> None:
    job = await client.submit("fake.note", queue="mail")
    with pytest.raises(Stuck, match=r"no handler is registered on its queue 'mail': fake\.register"):
        await client.wait_for(job.id)
    with pytest.raises(Stuck):
        await fake.finish(job.id)
    await fake.advance("1h")
    waiting = await client.submit("fake.note", after=[job.id])
    with pytest.raises(Stuck, match=f"is waiting for {job.id!r}"):
        await fake.reach(waiting.id, State.RUNNING)


async def test_a_loop_that_ends_under_a_handler_is_a_worker_that_died(fake: FakeDuetime) -> None:
    attempts: list[int] = []

    @handler("fake.cut")
    async def cut(payload: dict[str, Any], job: Job) -> str:
        attempts.append(job.attempt)
        if len(attempts) == 1:
            await asyncio.Event().wait()
        return "done"

    fake.register(cut)

    def in_a_loop_of_its_own() -> str:
        async def begin() -> str:
            job = await fake.client().submit("fake.cut")
            await fake.reach(job.id, State.RUNNING)
            return job.id

        return asyncio.run(begin())

    job_id = await asyncio.to_thread(in_a_loop_of_its_own)
    done = await fake.finish(job_id)
    assert (done.state, len(attempts)) == (State.SUCCEEDED, 2)
    assert done.attempts[0].outcome is AttemptOutcome.LEASE_LOST


def test_a_clock_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="now: give it a time zone"):
        FakeDuetime(now=datetime(2027, 1, 15))
