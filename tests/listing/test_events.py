"""Following real jobs over real connections."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from temporalio.client import Client

from api.stopping import when_told_to_stop
from duetime.engine import EmbeddedEngine
from duetime.engine.ports import free_port
from tests.listing.conftest import make_app
from tests.listing.handlers import BEGUN, RELEASED

PATIENCE = 30


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # Ctrl-C is for pytest.


@pytest.fixture(scope="module")
async def app(client: Client) -> FastAPI:
    return make_app(client)


@pytest.fixture(scope="module")
async def served(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of `app` over the loopback."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False)
    server = _Server(config)
    socket = config.bind_socket()
    running = asyncio.create_task(server.serve([socket]))
    base = f"http://127.0.0.1:{socket.getsockname()[1]}"
    async with httpx2.AsyncClient(base_url=base, timeout=PATIENCE) as http:
        await _until_it_answers(http)
        yield http
    server.should_exit = True
    await running


Event = dict[str, str]


async def events(answer: httpx2.Response) -> AsyncIterator[Event]:
    """The events of a stream, its comments and `retry` left out."""
    event: Event = {}
    async for line in answer.aiter_lines():
        if line and not line.startswith((":", "retry:")):
            name, _, value = line.partition(": ")
            event[name] = value
        elif not line and event:
            yield event
            event = {}


@contextlib.asynccontextmanager
async def following(
    http: httpx2.AsyncClient, job_id: str, seen: str | None = None
) -> AsyncIterator[AsyncIterator[Event]]:
    headers = {"Last-Event-ID": seen} if seen is not None else {}
    async with (
        asyncio.timeout(PATIENCE),
        http.stream("GET", f"/v1/jobs/{job_id}/events", headers=headers) as answer,
    ):
        assert answer.status_code == 200
        yield events(answer)


async def test_a_job_is_followed_to_its_end(served: httpx2.AsyncClient, worker: Any, submit: Any) -> None:
    job_id = await submit("hold", delay="1s", payload={"done": 4})
    told: list[tuple[str, str]] = []
    async with served.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"
        async with asyncio.timeout(PATIENCE):
            async for event in events(answer):
                job = json.loads(event["data"])
                told.append((event["event"], job["state"]))
                if (job["progress"] or {}).get("done") == 4 and job["state"] == "running":
                    RELEASED[job_id].set()
    assert told[0] == ("state", "scheduled")
    assert ("state", "running") in told
    assert told[-1] == ("done", "succeeded")
    assert [name for name, _ in told].count("done") == 1
    assert (job["result"], job["payload"]) == ("released", {"done": 4})
    assert len({json.dumps(one) for one in told}) >= 3


async def test_who_comes_back_after_the_end_need_not_come_again(
    served: httpx2.AsyncClient, other_http: httpx2.AsyncClient, worker: Any, submit: Any
) -> None:
    job_id = await submit("echo")
    async with following(served, job_id) as stream:
        *_, done = [event async for event in stream]
    assert done["event"] == "done"
    path = f"/v1/jobs/{job_id}/events"
    gone = await other_http.get(path, headers={"Last-Event-ID": done["id"]})
    assert (gone.status_code, gone.content) == (204, b"")
    # Another id, or none, is told the end again.
    for headers in ({}, {"Last-Event-ID": "x"}, {"Last-Event-ID": ""}):
        answer = await other_http.get(path, headers=headers)
        assert answer.text.startswith(f"retry: 2000\n\nid: {done['id']}\nevent: done\n")


async def test_another_instance_tells_only_what_is_new(
    served: httpx2.AsyncClient,
    http: httpx2.AsyncClient,
    other_http: httpx2.AsyncClient,
    worker: Any,
    submit: Any,
) -> None:
    job_id = await submit("hold")
    await BEGUN[job_id].wait()
    async with following(served, job_id) as stream:
        async for event in stream:
            seen = event
            if json.loads(event["data"])["state"] == "running":
                break
    resumed = asyncio.create_task(
        other_http.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": seen["id"]})
    )
    RELEASED[job_id].set()
    text = (await resumed).text
    assert seen["id"] not in text
    assert [line for line in text.split("\n") if line.startswith("event")][-1] == "event: done"


async def test_who_leaves_leaves_nothing_behind(
    app: FastAPI, served: httpx2.AsyncClient, submit: Any
) -> None:
    hub = app.state.jobs.events
    job_id = await submit("echo", delay="1h")
    async with contextlib.AsyncExitStack() as streams:
        for _ in range(20):
            stream = await streams.enter_async_context(following(served, job_id))
            assert (await anext(stream))["event"] == "state"
        assert not hub.is_idle
    async with asyncio.timeout(PATIENCE):
        while not hub.is_idle:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_an_unknown_job_is_not_followed(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/v1/jobs/nobody-knows-this/events")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_stop_ends_the_streams_at_once(engine: EmbeddedEngine, submit: Any) -> None:
    """Not after the time that a server gives open answers to end."""
    job_id = await submit("echo", delay="1h")
    port = free_port()
    environment = {
        **os.environ,
        "DUETIME_TEMPORAL_ADDRESS": engine.address,
        "DUETIME_API_PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", "api.app:app", "--port", str(port), "--log-level", "warning"),
        cwd=Path(__file__).parents[2],
        env=environment,
    )
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as http:
            await _until_it_answers(http)
            async with following(http, job_id) as stream:
                assert (await anext(stream))["event"] == "state"
                process.send_signal(signal.SIGTERM)
                # No timeout of uvicorn's is set: an open stream would hold it up for ever.
                assert [event async for event in stream] == []
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == -signal.SIGTERM
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until_it_answers(http: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(httpx2.TransportError):
                if (await http.get("/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.05)


async def test_whoever_had_the_signals_has_them_still() -> None:
    heard: list[str] = []
    earlier = signal.signal(signal.SIGTERM, lambda *_: heard.append("theirs"))
    try:
        with when_told_to_stop(lambda: heard.append("ours")):
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)
        assert sorted(heard) == ["ours", "theirs"]
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0)
        assert heard.count("ours") == 1
        assert heard.count("theirs") == 2
    finally:
        signal.signal(signal.SIGTERM, earlier)
