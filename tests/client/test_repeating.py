"""Calls to an API that fails in every way: sent again where that is safe, and never beyond the deadline."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Client, State, errors
from duetime.client.call import Repeat
from duetime.client.patience import Fate, wait_before_repeat
from tests.client.flaky import Act, Events, Flaky, HalfAnswer, Reply, Reset, Silence

JOB = {
    "id": "job-1",
    "run_id": "run-1",
    "kind": "noop",
    "queue": "default",
    "state": "queued",
    "created_at": "2027-01-15T09:00:00Z",
    "due_at": "2027-01-15T09:00:00Z",
    "max_attempts": 5,
    "links": {"self": "/v1/jobs/job-1", "temporal": ""},
}
OK = Reply(200, JOB)
CREATED = Reply(201, JOB)


def problem(status: int, name: str, **headers: str) -> Reply:
    body = {"type": f"urn:duetime:problem:{name}", "title": name, "status": status, "detail": f"about {name}"}
    return Reply(status, body, {"Content-Type": "application/problem+json", **headers})


AWAY = problem(503, "temporal-unreachable")
BUSY = problem(429, "too-many-requests")

Server = Callable[..., Coroutine[Any, Any, tuple[Flaky, Client]]]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server that plays a script, and a client of it."""
    async with AsyncExitStack() as open_ones:

        async def start(*script: Act, **options: Any) -> tuple[Flaky, Client]:
            flaky = await open_ones.enter_async_context(Flaky(script).running())
            client = await open_ones.enter_async_context(Client(flaky.url, **{"timeout": "10s", **options}))
            return flaky, client

        yield start


@pytest.mark.parametrize(
    "trouble", [AWAY, BUSY, Reset(), HalfAnswer(), problem(502, "x"), Reply(504, "<html>")]
)
async def test_reading_is_repeated_through_any_trouble(server: Server, trouble: Act) -> None:
    flaky, client = await server(trouble, trouble, OK)
    assert (await client.get("job-1")).state is State.QUEUED
    assert len(flaky.seen) == 3


@pytest.mark.parametrize("trouble", [AWAY, BUSY, Reset(), HalfAnswer()])
async def test_a_submission_keeps_its_key_and_id_through_all_tries(server: Server, trouble: Act) -> None:
    flaky, client = await server(trouble, trouble, CREATED)
    await client.submit("noop", {"a": 1})
    assert len(flaky.seen) == 3
    assert len({seen.headers["idempotency-key"] for seen in flaky.seen}) == 1
    assert len({seen.body["id"] for seen in flaky.seen}) == 1
    await client.submit("noop", {"a": 1})
    assert flaky.seen[3].headers["idempotency-key"] != flaky.seen[0].headers["idempotency-key"]


async def test_an_answer_that_was_lost_is_not_mistaken_for_somebody_elses_job(server: Server) -> None:
    replayed = Reply(200, JOB, {"Idempotency-Replayed": "true"})
    _, client = await server(Reset(), replayed)
    assert (await client.submit("noop")).created is True
    _, client = await server(replayed)
    assert (await client.submit("noop", idempotency_key="mine")).created is False


async def test_a_callers_key_alone_determines_the_id(server: Server) -> None:
    flaky, client = await server(CREATED)
    await client.submit("noop", idempotency_key="order 4711")
    assert flaky.seen[0].headers["idempotency-key"] == "order 4711"
    assert "id" not in flaky.seen[0].body


async def test_a_batch_is_repeated_under_one_key(server: Server) -> None:
    flaky, client = await server(AWAY, Reply(207, {"jobs": [{"status": 201, "job": JOB}]}))
    assert [item.status for item in await client.batch([{"kind": "noop"}])] == [201]
    assert len({seen.headers["idempotency-key"] for seen in flaky.seen}) == 1


async def test_jobs_of_a_batch_that_were_not_tried_are_tried_again(server: Server) -> None:
    away = {"status": 503, "problem": {"status": 503, "type": "x", "title": "x", "detail": "x"}}
    mine = {"status": 201, "job": {**JOB, "id": "first"}}
    replayed = {"status": 200, "job": {**JOB, "id": "first"}}
    flaky, client = await server(
        Reply(207, {"jobs": [mine, away]}), Reply(207, {"jobs": [replayed, {"status": 201, "job": JOB}]})
    )
    items = await client.batch([{"kind": "noop"}, {"kind": "noop"}])
    assert [item.status for item in items] == [201, 201]
    assert len({seen.headers["idempotency-key"] for seen in flaky.seen}) == 1
    assert flaky.seen[0].body == flaky.seen[1].body


async def test_a_batch_that_stays_half_done_says_which_half(server: Server) -> None:
    away = {"status": 503, "problem": {"status": 503, "type": "x", "title": "x", "detail": "x"}}
    _, client = await server(Reply(207, {"jobs": [{"status": 201, "job": JOB}, away]}), timeout="300ms")
    done, undone = await client.batch([{"kind": "noop"}, {"kind": "noop"}])
    assert done.accepted().id == "job-1"
    assert isinstance(undone.error, errors.Unavailable)


COMMANDS: dict[str, Callable[[Client], Coroutine[Any, Any, Any]]] = {
    "run_now": lambda client: client.run_now("job-1"),
    "retry": lambda client: client.retry("job-1"),
}
SAFE: dict[str, Callable[[Client], Coroutine[Any, Any, Any]]] = {
    "cancel": lambda client: client.cancel("job-1"),
    "move": lambda client: client.move("job-1", delay="1h"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("trouble", [AWAY, Reset(), HalfAnswer()])
async def test_a_command_that_may_have_been_done_is_not_repeated(
    server: Server, command: Callable[[Client], Coroutine[Any, Any, Any]], trouble: Act
) -> None:
    flaky, client = await server(trouble, OK)
    with pytest.raises(errors.Unavailable) as failed:
        await command(client)
    assert failed.value.outcome_unknown
    assert len(flaky.seen) == 1


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
async def test_a_command_that_was_refused_for_coming_too_often_is_repeated(
    server: Server, command: Callable[[Client], Coroutine[Any, Any, Any]]
) -> None:
    flaky, client = await server(BUSY, OK)
    await command(client)
    assert len(flaky.seen) == 2


@pytest.mark.parametrize("command", SAFE.values(), ids=SAFE)
@pytest.mark.parametrize("trouble", [AWAY, Reset()])
async def test_a_command_that_may_be_done_twice_is_repeated(
    server: Server, command: Callable[[Client], Coroutine[Any, Any, Any]], trouble: Act
) -> None:
    flaky, client = await server(trouble, OK)
    await command(client)
    assert len(flaky.seen) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
async def test_what_no_repetition_mends_is_raised_at_once(server: Server, status: int) -> None:
    flaky, client = await server(problem(status, "x"), OK)
    with pytest.raises(errors.ApiError) as refused:
        await client.get("job-1")
    assert (refused.value.status, len(flaky.seen)) == (status, 1)


async def test_nothing_listens_and_the_message_says_what_to_do(server: Server) -> None:
    flaky, _ = await server(OK)
    client = Client("http://127.0.0.1:9", timeout="300ms")
    with pytest.raises(
        errors.Unreachable, match=r"no answer from http://127\.0\.0\.1:9: .*does the API run"
    ) as away:
        await client.run_now("job-1")
    assert not away.value.outcome_unknown
    assert away.value.status == 0
    assert flaky.seen == []


async def test_silence_ends_with_the_deadline(server: Server) -> None:
    _, client = await server(Silence(), timeout="200ms")
    with pytest.raises(errors.Unreachable, match="nothing came in time"):
        await client.get("job-1")


async def test_a_wait_longer_than_the_deadline_is_not_begun(server: Server) -> None:
    flaky, client = await server(problem(503, "temporal-unreachable", **{"Retry-After": "3600"}), OK)
    with pytest.raises(errors.Unavailable) as away:
        await client.get("job-1")
    assert away.value.retry_after == timedelta(hours=1)
    assert len(flaky.seen) == 1


async def test_something_else_that_answers_is_told_apart(server: Server) -> None:
    _, client = await server(Reply(200, "<html>hello</html>"))
    with pytest.raises(errors.ApiError, match="is this a Duetime API"):
        await client.get("job-1")
    _, client = await server(Reply(302, "", {"Location": "https://login.example.org"}))
    with pytest.raises(errors.ApiError, match=r"redirects to https://login\.example\.org"):
        await client.get("job-1")
    _, client = await server(Reply(500, "a page of a proxy"))
    with pytest.raises(errors.ApiError, match="a page of a proxy"):
        await client.get("job-1")


# -- events ---------------------------------------------------------------------------------------------


def event(number: int, name: str, state: str) -> str:
    return f"id: {number}\nevent: {name}\ndata: {json.dumps({**JOB, 'state': state})}\n\n"


async def test_a_broken_stream_is_gone_on_with(server: Server) -> None:
    flaky, client = await server(
        Events(f"retry: 1\n\n{event(1, 'state', 'queued')}", resets=True),
        AWAY,
        Reset(),
        Events(": keep-alive\n\n" + event(2, "state", "running")),
        Events(event(3, "done", "succeeded")),
    )
    seen = [told async for told in client.events("job-1")]
    assert [(told.id, told.name, told.job.state.value) for told in seen] == [
        ("1", "state", "queued"),
        ("2", "state", "running"),
        ("3", "done", "succeeded"),
    ]
    last = [request.headers.get("last-event-id") for request in flaky.seen]
    assert last == [None, "1", "1", "1", "2"]


async def test_a_stream_that_never_comes_back_is_given_up(server: Server) -> None:
    _, client = await server(Events(event(1, "state", "queued")), AWAY, timeout="300ms")
    following = client.events("job-1")
    assert (await anext(following)).id == "1"
    with pytest.raises(errors.Unavailable):
        await anext(following)


async def test_no_content_is_the_end_of_a_stream(server: Server) -> None:
    _, client = await server(Reply(204, ""))
    assert [told async for told in client.events("job-1", last_event_id="9")] == []


# -- the decision ---------------------------------------------------------------------------------------


@given(
    fate=st.sampled_from(Fate),
    repeat=st.sampled_from(Repeat),
    tries=st.integers(1, 10_000),
    left=st.timedeltas(timedelta(0), timedelta(hours=2)),
    chance=st.floats(0, 1, exclude_max=True),
    asked=st.none() | st.timedeltas(timedelta(0), timedelta(hours=2)),
)
def test_no_wait_is_shorter_than_asked_or_longer_than_what_is_left(
    fate: Fate, repeat: Repeat, tries: int, left: timedelta, chance: float, asked: timedelta | None
) -> None:
    wait = wait_before_repeat(fate, repeat, tries, left, chance, asked)
    if fate is Fate.UNKNOWN and repeat is Repeat.IF_NOT_DONE:
        assert wait is None
    elif wait is not None:
        assert (asked or timedelta(0)) <= wait < left
        assert wait - (asked or timedelta(0)) <= timedelta(seconds=5)


def test_waits_grow_to_their_longest() -> None:
    hour = timedelta(hours=1)
    waits = [wait_before_repeat(Fate.NOT_DONE, Repeat.ALWAYS, n, hour, 0.999999, None) for n in range(1, 9)]
    seconds = [round(wait.total_seconds(), 1) for wait in waits if wait]
    assert seconds == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
