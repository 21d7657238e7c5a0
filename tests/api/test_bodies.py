"""Bodies as bytes on the wire: what is no JSON, too large, too slow, or not said to be JSON."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from api.strict import StrictRequest
from duetime.contracts import limits
from tests.api.caller import Caller, faults, problem

JSON = {"content-type": "application/json"}
LATER = b'{"kind": "echo", "delay": "1h"}'


async def send(api: Caller, body: bytes, **headers: str) -> httpx2.Response:
    return await api.http.post("/v1/jobs", content=body, headers=JSON | headers)


MALFORMED: dict[str, tuple[bytes, str]] = {
    "cut off": (b'{"kind": "echo"', "Expecting"),
    "two values": (LATER + b"{}", "Extra data"),
    "trailing comma": (b'{"kind": "echo",}', "property name"),
    "single quotes": (b"{'kind': 'echo'}", "property name"),
    "comment": (b'{"kind": "echo"} // x', "Extra data"),
    "blanks alone": (b"  \n", "Expecting value"),
    "NaN": (b'{"kind": "echo", "delay": NaN}', "NaN is not a JSON number"),
    "infinity": (b'{"kind": "echo", "payload": {"a": Infinity}}', "Infinity is not a JSON number"),
    "minus infinity": (b'{"kind": "echo", "payload": {"a": -Infinity}}', "-Infinity is not a JSON number"),
    "a raw control character": (b'{"kind": "ec\x01ho"}', "control character"),
    "latin-1": ('{"kind": "echo", "payload": {"a": "é"}}'.encode("latin-1"), "not UTF-8"),
    "UTF-16": (LATER.decode().encode("utf-16"), "not UTF-8"),
    "UTF-32": (LATER.decode().encode("utf-32-le"), "Expecting"),
    "an encoded surrogate": (b'{"kind": "echo", "payload": {"a": "\xed\xa0\x80"}}', "not UTF-8"),
    "5,000 digits": (b'{"kind": "echo", "payload": {"a": ' + b"9" * 5000 + b"}}", "too many digits"),
    "depth 10,000": (b'{"kind": "echo", "payload": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001, "deeper"),
    "lists 100,000 deep": (b"[" * 100_000, "deeper"),
    "a member twice": (b'{"kind": "echo", "kind": "noop"}', "'kind' is there twice"),
    "a member twice, escaped": (b'{"kind": "echo", "payload": {"a": 1, "\\u0061": 2}}', "'a' is there twice"),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_json(api: Caller, name: str) -> None:
    body, said = MALFORMED[name]
    refusal = problem(await send(api, body), 400, "malformed")
    assert said in refusal["detail"] and len(refusal["detail"]) < 300


async def test_an_empty_body_lacks_everything(api: Caller) -> None:
    assert faults(await send(api, b"")) == {"": "is required"}
    assert faults(await api.http.post("/v1/jobs")) == {"": "is required"}


async def test_a_byte_order_mark_is_passed_over(api: Caller) -> None:
    assert (await send(api, b"\xef\xbb\xbf" + LATER)).status_code == 201


TYPES = {
    "none": None,
    "text": "text/plain",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data; boundary=x",
    "nearly": "application/jsonx",
    "other": "text/json",
    "octets": "application/octet-stream",
    "emoji": "😀",
}


@pytest.mark.parametrize("name", TYPES)
async def test_a_body_must_say_that_it_is_json(api: Caller, name: str) -> None:
    """A form or plain text is what any web page may send without asking."""
    given = TYPES[name]
    headers = [(b"content-type", given.encode())] if given else []
    answer = await api.http.post("/v1/jobs", content=LATER, headers=headers)
    assert "application/json" in problem(answer, 415, "not-json")["detail"]


@pytest.mark.parametrize(
    "given", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"]
)
async def test_ways_to_say_json(api: Caller, given: str) -> None:
    answer = await api.http.post("/v1/jobs", content=LATER, headers={"content-type": given})
    assert answer.status_code == 201


# --- size ---


def of_size(size: int) -> bytes:
    """A job of exactly that many bytes, blanks included, whose payload is small."""
    return LATER[:-1] + b" " * (size - len(LATER)) + b"}"


async def chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 64 * 1024):
        yield body[start : start + 64 * 1024]


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
async def test_the_bound_of_a_body(address: str, chunked: bool) -> None:
    async with httpx2.AsyncClient(base_url=address) as http:

        async def post(body: bytes) -> httpx2.Response:
            content: Any = chunks(body) if chunked else body
            return await http.post("/v1/jobs", content=content, headers=JSON)

        assert (await post(of_size(limits.BODY_BYTES))).status_code == 201
        over = problem(await post(of_size(limits.BODY_BYTES + 1)), 413, "too-large")
        assert "1,048,576" in over["detail"]


async def raw(address: str, *sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which `sent` went out."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for part in sent:
        writer.write(part)
        await writer.drain()
    return reader, writer


HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


async def test_a_body_of_3_mib_is_refused_before_it_is_read(address: str) -> None:
    reader, writer = await raw(address, HEAD + b"Content-Length: 3145728\r\n\r\n")
    status = await asyncio.wait_for(reader.readline(), 30)
    assert b" 413 " in status, "not a byte of it was sent"
    writer.close()


async def test_a_chunked_body_without_end_is_cut_off(address: str) -> None:
    reader, writer = await raw(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    try:
        for _ in range(200):
            writer.write(chunk)
            await writer.drain()
    except (ConnectionError, BrokenPipeError):
        pass
    answer = await asyncio.wait_for(reader.read(200), 30)
    assert b" 413 " in answer.partition(b"\r\n")[0] or answer == b""  # Reset before it was read.
    writer.close()


async def test_a_body_that_does_not_arrive_is_not_waited_for(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StrictRequest, "patience", 0.2)
    reader, writer = await raw(address, HEAD + b"Content-Length: 100\r\n\r\n", b'{"kind"')
    assert b" 408 " in await asyncio.wait_for(reader.readline(), 30)
    writer.close()


async def test_a_caller_who_leaves_is_no_error(
    address: str, api: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await raw(address, HEAD + b"Content-Length: 100\r\n\r\n", b'{"kind"')
    writer.close()
    await writer.wait_closed()
    async with httpx2.AsyncClient(base_url=address) as http:
        assert (await http.get("/healthz")).status_code == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_body_that_is_hard_to_read_is_answered_quickly(api: Caller) -> None:
    """A megabyte of different names of which the last comes twice: minutes, if each were looked for in all."""
    members = b",".join(b'"%x":0' % n for n in range(90_000))
    problem(await send(api, b"{" + members + b',"15f8f":1}'), 400, "malformed")


async def test_commands_without_a_body_ignore_none(api: Caller, app: FastAPI) -> None:
    job = await api.submit(delay="1h")
    for body in (b"", b"{}"):
        answer = await api.http.post(f"/v1/jobs/{job['id']}:cancel", content=body, headers=JSON)
        assert answer.status_code == 202
    problem(await api.http.post(f"/v1/jobs/{job['id']}:cancel", content=b"{"), 415)
    answer = await api.http.post(f"/v1/jobs/{job['id']}:cancel", content=b"[]", headers=JSON)
    assert list(faults(answer)) == [""]
    assert json.loads(answer.content)["status"] == 422
