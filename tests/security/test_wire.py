"""Clients that misbehave on the wire: each is ended, and the API goes on."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI
from temporalio.client import Client

from api.__main__ import config_of
from api.app import create_app
from api.security.connections import GuardedProtocol, with_places
from api.strict import StrictRequest
from tests.security.keyring import settings
from tests.security.wire import PATIENCE, Wire, request, serving

HEALTH = request("GET", "/healthz")


@pytest.fixture(scope="module")
def app(client: Client) -> FastAPI:
    return create_app(settings(), client)


@pytest.fixture(scope="module")
async def port(app: FastAPI) -> AsyncIterator[int]:
    """The API with its own limits."""
    async with serving(app) as port:
        yield port


async def is_up(port: int) -> bool:
    async with Wire.to(port) as wire:
        await wire.send(HEALTH)
        return (await wire.answer()).startswith(b"HTTP/1.1 200 ")


# --- too slow ---


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "])
async def test_headers_that_never_end(app: FastAPI, begun: bytes) -> None:
    async with serving(app, head_seconds=0.3) as port, Wire.to(port) as wire:
        seen = await wire.drip(begun, b"a") if begun else await wire.until_closed()
        assert seen.startswith(b"HTTP/1.1 408 ") if begun else seen == b""
        assert await is_up(port)


async def test_headers_that_never_end_the_second_time(app: FastAPI) -> None:
    """uvicorn's own time for a pause is over as soon as a byte has come."""
    async with serving(app, head_seconds=0.3) as port, Wire.to(port) as wire:
        await wire.send(HEALTH)
        assert b" 200 " in await wire.answer()
        assert (await wire.drip(b"G", b"a")).startswith(b"HTTP/1.1 408 ")


async def test_who_waits_for_an_answer_is_not_hurried(app: FastAPI) -> None:
    async def slow(connection: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.6)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async with (
        serving(slow, head_seconds=0.2, body_seconds=0.2, stall_seconds=0.2) as port,
        Wire.to(port) as wire,
    ):
        for _ in range(2):
            await wire.send(request("POST", "/", "Content-Length: 2") + b"{}")
            assert (await wire.answer()).endswith(b"ok")


BODY = request("POST", "/v1/jobs", "Content-Type: application/json", "Content-Length: 1000")


async def test_a_body_that_never_ends(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StrictRequest, "patience", 0.2)
    async with serving(app, body_seconds=0.6) as port, Wire.to(port) as wire:
        seen = await wire.drip(BODY, b" ")
        assert seen.startswith(b"HTTP/1.1 408 ")
        assert b"urn:duetime:problem:too-slow" in seen
        assert await is_up(port)


async def test_a_body_that_nobody_reads_never_ends(app: FastAPI) -> None:
    """The route takes none, and answers; what follows is thrown away, and not for ever."""
    async with serving(app, body_seconds=0.3) as port, Wire.to(port) as wire:
        seen = await wire.drip(request("GET", "/healthz", "Content-Length: 1000000000"), b" " * 1000)
        assert seen.startswith(b"HTTP/1.1 200 ")
        assert await is_up(port)


async def test_an_answer_that_nobody_reads() -> None:
    ended = asyncio.Event()

    async def large(connection: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 50_000_000, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        ended.set()

    async with serving(large, stall_seconds=0.3) as port:
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            deaf.sendall(HEALTH)
            async with asyncio.timeout(PATIENCE):
                await ended.wait()


async def test_an_answer_that_is_read_slowly_arrives() -> None:
    size = 20_000_000

    async def large(connection: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * size})

    async with serving(large, stall_seconds=1.0) as port, Wire.to(port, limit=65536) as wire:
        await wire.send(HEALTH)
        head = await wire.reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head
        received = 0
        async with asyncio.timeout(PATIENCE):
            while received < size:
                received += len(await wire.reader.read(250_000))
                await asyncio.sleep(0.02)


# --- too much ---


async def test_a_body_over_the_bound_is_refused_as_it_comes(port: int) -> None:
    async with Wire.to(port) as wire:
        await wire.send(
            request("POST", "/v1/jobs", "Content-Type: application/json", "Transfer-Encoding: chunked")
        )
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(32):
            await wire.send(chunk)
        assert (await wire.answer()).startswith(b"HTTP/1.1 413 ")
    async with Wire.to(port) as wire:
        await wire.send(
            request("POST", "/v1/jobs", "Content-Type: application/json", "Content-Length: 99999999999999")
        )
        assert (await wire.answer()).startswith(b"HTTP/1.1 413 ")
    assert await is_up(port)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("GET", "/healthz", *(f"X-{n}: 1" for n in range(500))), 431),
        (request("GET", "/healthz", f"X: {'1' * 20_000}"), 431),
        (request("GET", "/healthz", f"X: {'1' * 1_000_000}"), 431),
        (request("GET", f"/healthz?{'a' * 10_000}"), 414),
        (request("GET", f"/{'a' * 1_000_000}"), 431),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (request("POST", "/v1/jobs", "Content-Length: -1"), 400),
        (
            request(
                "POST", "/v1/jobs", "Content-Length: 1", "Transfer-Encoding: chunked", "Content-Length: 2"
            ),
            400,
        ),
    ],
)
async def test_what_is_absurd_gets_a_problem_and_an_end(port: int, sent: bytes, status: int) -> None:
    async with Wire.to(port) as wire:
        await wire.send(sent)
        seen = await wire.answer()
        assert seen.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"application/problem+json" in seen
    assert await is_up(port)


async def test_a_client_that_goes_away_is_no_fault_of_ours(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    for sent in (BODY, BODY + b"{", request("POST", "/v1/jobs", "Transfer-Encoding: chunked") + b"zz\r\n"):
        async with Wire.to(port) as wire:
            await wire.send(sent)
        assert await is_up(port)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


# --- too many ---


async def test_when_all_places_are_taken_the_longest_idle_one_goes(app: FastAPI) -> None:
    async with serving(app, places=3) as port, Wire.to(port) as first:
        await first.send(HEALTH)
        await first.answer()
        async with Wire.to(port) as second, Wire.to(port) as third, Wire.to(port) as fourth:
            assert await first.until_closed() == b""
            for wire in (second, third, fourth):
                await wire.send(HEALTH)
                assert b" 200 " in await wire.answer()


async def test_when_all_places_are_at_work_one_more_is_told_to_come_back() -> None:
    release = asyncio.Event()
    at_work = asyncio.Queue[None]()

    async def work(connection: Any, receive: Any, send: Any) -> None:
        at_work.put_nowait(None)
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async with serving(work, places=2) as port, Wire.to(port) as first, Wire.to(port) as second:
        for wire in (first, second):
            await wire.send(HEALTH)
            await at_work.get()
        async with Wire.to(port) as third:
            seen = await third.until_closed()
            assert seen.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 1\r\n" in seen
        release.set()
        for wire in (first, second):
            assert (await wire.answer()).startswith(b"HTTP/1.1 200 ")


async def test_a_crowd_that_never_speaks_keeps_nobody_out(app: FastAPI) -> None:
    async with serving(app, places=50) as port:
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
        try:
            assert await is_up(port)
        finally:
            for one in crowd:
                one.close()


def test_an_idle_connection_is_left_to_the_other_side_to_close() -> None:
    """Proxies keep one for 60 s as a rule; a request that met our closing would be answered with their 502."""
    assert config_of(settings()).timeout_keep_alive > 60


def test_places_are_no_more_than_the_system_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert with_places(500).places == 500
    assert with_places(5000).places == 924
    assert with_places(100).places == 100
    assert asked == [(600, 1024), (1024, 1024)]
    assert issubclass(with_places(1), GuardedProtocol)
