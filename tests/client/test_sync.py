"""The client without asyncio: the same methods by construction, in any thread, after any fork."""

import asyncio
import inspect
import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from duetime import Client, Job, State, SyncClient, errors, handler
from duetime.client.portal import Portal
from duetime.testing import FakeDuetime


@handler("sync.echo")
async def echo(payload: dict[str, int]) -> int:
    return payload["value"]


@pytest.fixture
def fake() -> FakeDuetime:
    found = FakeDuetime()
    found.register(echo)
    return found


@pytest.fixture
def client(fake: FakeDuetime) -> Iterator[SyncClient]:
    with fake.sync_client() as found:
        yield found


def public(of: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}


def test_it_has_every_method_with_its_signature_and_its_text() -> None:
    assert public(SyncClient) == public(Client)
    for name in public(Client) - {"close"}:
        ours, theirs = getattr(SyncClient, name), getattr(Client, name)
        assert inspect.signature(ours) == inspect.signature(theirs)
        assert ours.__doc__ == theirs.__doc__
    assert inspect.signature(SyncClient).parameters == inspect.signature(Client).parameters


def test_it_does_what_the_other_does(client: SyncClient) -> None:
    assert client.run("sync.echo", {"value": 7}) == 7
    job = client.submit("sync.echo", {"value": 1}, delay="1h")
    assert client.get(job.id).state is State.SCHEDULED
    assert client.wait_for(job.id).result == 1
    with pytest.raises(errors.NotFound):
        client.get("nobody")
    assert [item.status for item in client.batch([{"kind": "sync.echo", "payload": {"value": 2}}] * 2)] == [
        201
    ] * 2
    assert client.count().total == 4
    assert client.kinds()[0].kind == "sync.echo"


def test_lists_and_events_are_plain_iterators(client: SyncClient) -> None:
    ids = [client.submit("sync.echo", {"value": n}, delay="1h").id for n in range(5)]
    found = client.jobs(page_size=2)
    assert next(found).id == ids[-1]
    found.close()  # type: ignore[attr-defined] # a generator, as callers may know
    assert len(list(client.jobs(page_size=2))) == 5
    assert [event.job.state for event in client.events(ids[0])][-1] is State.SUCCEEDED


def test_many_threads_share_one(client: SyncClient) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda n: client.run("sync.echo", {"value": n}), range(40)))
    assert results == list(range(40))


async def test_it_works_inside_a_running_loop(client: SyncClient) -> None:
    assert client.run("sync.echo", {"value": 1}) == 1


def test_a_handler_in_a_thread_may_submit_and_wait(fake: FakeDuetime, client: SyncClient) -> None:
    @handler("sync.outer")
    def outer(payload: dict[str, int], job: Job) -> int:
        inner = client.submit("sync.echo", payload, delay="1h")
        return int(client.wait_for(inner.id).result) + 1

    fake.register(outer)
    began = fake.now
    assert asyncio.run(finish(fake, "sync.outer", {"value": 1})) == 2
    assert (fake.now - began).total_seconds() == pytest.approx(3600, abs=1)


async def finish(fake: FakeDuetime, kind: str, payload: dict[str, int]) -> object:
    async with fake.client() as caller:
        job = await caller.submit(kind, payload)
    return (await fake.finish(job.id)).result


def test_it_works_in_a_process_that_was_forked_since(client: SyncClient) -> None:
    assert client.run("sync.echo", {"value": 1}) == 1
    child = os.fork()
    if child == 0:
        os._exit(0 if client.run("sync.echo", {"value": 2}) == 2 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert client.run("sync.echo", {"value": 3}) == 3


def test_closed_it_opens_anew(client: SyncClient) -> None:
    before = threading.active_count()
    assert client.run("sync.echo", {"value": 1}) == 1
    assert threading.active_count() == before + 1
    client.close()
    assert threading.active_count() == before
    assert client.run("sync.echo", {"value": 2}) == 2
    client.close()


def test_left_without_close_it_leaves_no_thread(fake: FakeDuetime) -> None:
    client = fake.sync_client()
    client.run("sync.echo", {"value": 1})
    at = client._portal._at
    assert at is not None
    gone = weakref.ref(client)
    del client
    assert gone() is None
    assert not at.thread.is_alive()


def test_ctrl_c_ends_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    portal = Portal("test")
    begun, cancelled = threading.Event(), threading.Event()

    async def forever() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def interrupted(future: Future[None]) -> None:
        assert begun.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        portal.call(forever())
    assert cancelled.wait(10)
    portal.stop()


def test_called_from_its_own_loop_it_says_so() -> None:
    portal = Portal("test")

    async def nested() -> None:
        portal.call(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="asynchronous client"):
        portal.call(nested())
    portal.stop()
