"""The largest and strangest that a job may carry, from the request to the answer about its end."""

import asyncio
import json
import threading
from typing import Any

import pytest
from temporalio.client import Client

from duetime import handler
from duetime.contracts import limits
from duetime.worker import Worker
from tests.api.caller import Caller, problem

FRAME = len('{"value":""}')


class Mute(Exception):
    """Neither its text nor what it holds can be had or sent."""

    def __init__(self) -> None:
        super().__init__(threading.Lock())

    def __str__(self) -> str:
        raise RuntimeError("no words")


RAISED: dict[str, Any] = {
    "huge": lambda: ValueError("x" * 5_000_000),
    "mute": Mute,
    "surrogate": lambda: ValueError("\ud800" * 3),
    "nul": lambda: ValueError("a\x00b"),
    "emoji": lambda: ValueError("😀" * 100_000),
    "group": lambda: ExceptionGroup("many", [ValueError("y" * 100_000) for _ in range(50)]),
    "chain": lambda: chained(300),
    "named": lambda: type("N" * 100_000, (Exception,), {})("named"),
}

RETURNED: dict[str, Any] = {
    "far too large": "x" * (3 * 2**20),
    "one byte too large": "x" * (limits.RESULT_BYTES - 1),
    "NaN": float("nan"),
    "infinity": [float("inf")],
    "surrogate": "\ud800",
    "an object": threading.Lock(),
}


def chained(length: int) -> Exception:
    error = ValueError("the first")
    for number in range(length):
        after = ValueError(f"number {number}")
        after.__cause__ = error
        error = after
    return error


@handler("carry")
async def carry(payload: dict[str, Any]) -> dict[str, Any]:
    return payload


@handler("raise")
async def raise_(payload: dict[str, Any]) -> None:
    raise RAISED[payload["what"]]()


@handler("return")
async def return_(payload: dict[str, Any]) -> Any:
    return RETURNED[payload["what"]]


@pytest.mark.parametrize(
    "char", ["x", "é", "😀", '"', "\x00"], ids=["ASCII", "two bytes", "four bytes", "quotes", "NUL"]
)
async def test_the_largest_payload_and_result_come_back_exactly(
    api: Caller, client: Client, char: str
) -> None:
    """To the byte, whatever a character takes on the wire; one more is refused with the bound."""
    size = len(json.dumps(char, ensure_ascii=False).encode()) - 2
    count, rest = divmod(limits.PAYLOAD_BYTES - FRAME, size)
    value = char * count + "x" * rest
    async with Worker(client, [carry], queues=[api.queue]):
        accepted = await api.submit("carry", payload={"value": value})
        done = await api.final(accepted["id"])
    assert done["payload"] == done["result"] == {"value": value}
    over = await api.post({"kind": "carry", "queue": api.queue, "payload": {"value": value + "x"}})
    assert "262,144" in problem(over, 413, "too-large")["detail"]


async def test_a_payload_of_3_mib_is_refused_with_the_bound_of_a_body(api: Caller) -> None:
    answer = await api.post({"kind": "carry", "queue": api.queue, "payload": {"value": "x" * (3 * 2**20)}})
    assert f"{limits.BODY_BYTES:,}" in problem(answer, 413, "too-large")["detail"]


async def test_whatever_is_raised_can_be_read(api: Caller, client: Client) -> None:
    async with Worker(client, [raise_, carry], queues=[api.queue]):
        retry = {"max_attempts": 2, "initial_interval": 0, "jitter": 0}
        accepted = [await api.submit("raise", payload={"what": what}, retry=retry) for what in RAISED]
        ended = await asyncio.gather(*(api.final(job["id"]) for job in accepted))
        after = await api.submit("carry", payload={"n": 1})
        assert (await api.final(after["id"]))["result"] == {"n": 1}, "the worker lives"
    for what, job in zip(RAISED, ended, strict=True):
        assert (job["state"], job["attempt"], len(job["attempts"])) == ("failed", 2, 2), what
        for error in (job["error"], *(attempt["error"] for attempt in job["attempts"])):
            assert error["type"] and error["message"], what
            assert len(error["type"]) <= limits.ERROR_TYPE_LENGTH + 40, what
            assert len(error["message"]) <= limits.ERROR_MESSAGE_LENGTH + 40, what
            assert len(error["stack"] or "") <= limits.ERROR_STACK_LENGTH + 40, what
    assert "[cut, 5,000,000 characters]" in ended[0]["error"]["message"]


async def test_whatever_is_returned_is_a_result_or_a_clear_end(api: Caller, client: Client) -> None:
    async with Worker(client, [return_], queues=[api.queue]):
        accepted = [await api.submit("return", payload={"what": what}) for what in RETURNED]
        ended = await asyncio.gather(*(api.final(job["id"]) for job in accepted))
    for what, job in zip(RETURNED, ended, strict=True):
        assert (job["state"], job["error"]["type"], job["attempt"]) == ("failed", "InvalidResult", 1), what
        assert job["result"] is None and len(job["error"]["message"]) < 500, what
