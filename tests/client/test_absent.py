"""What the fake does not have is refused, with what to use instead: no call is accepted and ignored."""

import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from duetime import Client
from duetime.client.pipelines import Pipelines
from duetime.client.schedules import Schedules
from duetime.errors import ApiError, InvalidField
from duetime.testing import FakeDuetime

AT = "2027-01-15T09:00:00Z"
RULE = {"cron": "0 2 * * *", "job": {"kind": "noop"}}

#: Calls that the fake answers: the tests of the client run them in both worlds.
ANSWERED = {
    *("submit", "submit_spec", "batch", "run", "get", "result", "wait_for", "jobs", "page", "count", "kinds"),
    *("events", "move", "run_now", "cancel", "retry", "close"),
}
#: What the others take, and what is said of each: every one of them names what to use instead.
OF_CLIENT: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "retry_many": ((), {"kind": "x"}, "`client.retry`"),
    "cancel_many": ((), {"kind": "x", "dry_run": True}, "`client.cancel`"),
    "operation": (("o",), {}, "operations on many jobs"),
    "operations": ((), {}, "operations on many jobs"),
    "run_operation": (("o",), {}, "operations on many jobs"),
    "stop_operation": (("o",), {}, "operations on many jobs"),
    "wait_for_operation": (("o",), {}, "operations on many jobs"),
    "queues": ((), {}, "fake.register"),
    "queue": (("mail",), {}, "fake.register"),
    "pause_queue": (("mail",), {"reason": "x"}, "fake.register"),
    "resume_queue": (("mail",), {}, "fake.register"),
    "set_queue_rate": (("mail", 2.0), {"reason": "x"}, "fake.register"),
    "set_queue_concurrency": (("mail", 2), {}, "fake.register"),
    "backlog": ((), {}, r"`fake.jobs\(\)`"),
    "doctor": ((), {}, r"`fake.jobs\(\)`"),
    "why": (("j",), {}, r"`fake.job\(id\)`"),
}
OF_SCHEDULES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("get", "delete", "occurrences", "resume", "trigger"), ("s",)),
    **dict.fromkeys(("list", "page", "forecast"), ()),
    "put": ("s", RULE),
    "apply": ([{"id": "s", **RULE}],),
    "preview": ({"cron": "0 2 * * *"},),
    "pause": ("s", "because"),
    "skip": ("s", AT),
    "backfill": ("s", AT, AT),
}
OF_PIPELINES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("get", "graph", "cancel", "retry", "wait_for", "events"), ("p",)),
    **dict.fromkeys(("list", "page"), ()),
    "submit": ({"a": {"kind": "noop"}},),
    "submit_spec": ({"jobs": {"a": {"kind": "noop"}}},),
}


def calls() -> Iterator[Any]:
    """One way to make each call, and what is said of it."""
    for name, (positional, named, said) in OF_CLIENT.items():
        yield pytest.param(lambda c, n=name, p=positional, k=named: getattr(c, n)(*p, **k), said, id=name)
    for kind, said, table in (
        ("schedules", "keeps no schedules.*`duetime.cron`", OF_SCHEDULES),
        ("pipelines", "runs no pipelines: test their handlers", OF_PIPELINES),
    ):
        for name, given in table.items():

            def call(
                client: Client, kind: str = kind, name: str = name, given: tuple[Any, ...] = given
            ) -> Any:
                return getattr(getattr(client, kind), name)(*given)

            yield pytest.param(call, said, id=f"{kind}.{name}")


async def first_of(asked: Any) -> Any:
    """What a call gives, or the first of what it gives."""
    return await (anext(asked) if isinstance(asked, AsyncGenerator) else asked)


def methods(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}


def test_there_is_no_other_call() -> None:
    """One that is new is built in the fake, or refused by it."""
    assert methods(Client) == ANSWERED | set(OF_CLIENT)
    assert methods(Schedules) == set(OF_SCHEDULES)
    assert methods(Pipelines) == set(OF_PIPELINES)


@pytest.mark.parametrize(("call", "said"), list(calls()))
async def test_what_the_fake_does_not_have_is_refused(call: Callable[[Client], Any], said: str) -> None:
    async with FakeDuetime().client() as client:
        with pytest.raises(ApiError, match=f"FakeDuetime .*{said}") as refused:
            await first_of(call(client))
    assert refused.value.status == 501
    assert "duetime_service" in str(refused.value)
    assert refused.value.problem.type.endswith("not-in-the-fake")


async def test_a_path_that_nothing_has_is_refused_by_its_name() -> None:
    async with FakeDuetime().client() as client:
        answer = await client._sender._connections.pool().get(f"{client.url}/v1/somewhere")
    assert answer.status_code == 501 and "FakeDuetime has no GET /v1/somewhere" in answer.json()["detail"]


def test_without_asyncio_too() -> None:
    with FakeDuetime().sync_client() as client:
        with pytest.raises(ApiError, match="FakeDuetime keeps no schedules"):
            client.schedules.trigger("s")
        with pytest.raises(ApiError, match="FakeDuetime has no operations on many jobs"):
            client.retry_many(kind="x")
        with pytest.raises(ApiError, match="FakeDuetime runs no pipelines"):
            client.pipelines.submit({"a": {"kind": "noop"}})


@pytest.mark.parametrize("limit", [0, 201, -1])
async def test_a_page_of_a_size_that_the_api_refuses(limit: int) -> None:
    async with FakeDuetime().client() as client:
        with pytest.raises(InvalidField, match="limit"):
            await client.page(limit=limit)


async def test_counts_by_what_the_api_does_not_count_by() -> None:
    async with FakeDuetime().client() as client:
        with pytest.raises(InvalidField, match="by"):
            await client.count(by="kind")  # type: ignore[arg-type]
