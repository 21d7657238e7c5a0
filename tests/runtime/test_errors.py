"""A handler may raise or return anything at all: the job ends readably, and the worker takes the next one."""

import asyncio
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from duetime import Job, JobCancelled, Reject, RetryAfter, Snooze, handler
from tests.support.jobs import NO_WAIT, Jobs
from tests.support.workers import serving

FAILED = WorkflowExecutionStatus.FAILED


class Demanding(Exception):
    def __init__(self, a: int, b: object) -> None:
        super().__init__(a)
        self.lock = b


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Interrupted(Exception):
    """Bears the name of an outcome of the runtime, as an exception of anybody's may."""


class Cancelled(Exception):
    pass


class Snoozed(Exception):
    pass


class NoHandler(Exception):
    pass


class AttemptTimeout(Exception):
    pass


RAISED: dict[str, tuple[Any, str, str]] = {
    "huge": (lambda: ValueError("x" * 5_000_000), "ValueError", "[cut, 5,000,000 characters]"),
    "demanding": (lambda: Demanding(1, threading.Lock()), "Demanding", "1"),
    "mute": (Mute, "Mute", "its text cannot be had"),
    "system-exit": (lambda: SystemExit(3), "SystemExit", "3"),
    "keyboard-interrupt": (KeyboardInterrupt, "KeyboardInterrupt", ""),
    "generator-exit": (GeneratorExit, "GeneratorExit", ""),
    "cancelled-by-itself": (asyncio.CancelledError, "CancelledError", ""),
    "job-cancelled-by-itself": (JobCancelled, "JobCancelled", ""),
    "group": (lambda: ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup", "two"),
    "surrogate": (lambda: ValueError("lone \ud800"), "ValueError", "lone \\ud800"),
    "nul": (lambda: ValueError("nul \x00"), "ValueError", "nul \\x00"),
    "named-interrupted": (lambda: Interrupted("mine"), "Interrupted", "mine"),
    "named-cancelled": (lambda: Cancelled("mine"), "Cancelled", "mine"),
    "named-snoozed": (lambda: Snoozed("mine"), "Snoozed", "mine"),
    "named-no-handler": (lambda: NoHandler("mine"), "NoHandler", "mine"),
    "named-attempt-timeout": (lambda: AttemptTimeout("mine"), "AttemptTimeout", "mine"),
    "application-error": (lambda: ApplicationError("mine", type="Mine"), "Mine", "mine"),
}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "thread"])
async def test_whatever_a_handler_raises(jobs: Jobs, client: Client, is_async: bool) -> None:
    @handler("raise")
    async def on_loop(payload: dict[str, str]) -> None:
        raise RAISED[payload["what"]][0]()

    @handler("raise")
    def in_thread(payload: dict[str, str]) -> None:
        raise RAISED[payload["what"]][0]()

    async with serving(client, jobs.queue, on_loop if is_async else in_thread):
        retry = NO_WAIT | {"max_attempts": 1}
        ended = await asyncio.gather(*(jobs.run("raise", {"what": what}, retry=retry) for what in RAISED))
        # The server sends a failure that is not the last through another door: twice, for some.
        twice = ["huge", "surrogate", "named-cancelled"]
        retry = NO_WAIT | {"max_attempts": 2}
        again = await asyncio.gather(*(jobs.run("raise", {"what": what}, retry=retry) for what in twice))

    for what, end in zip(RAISED, ended, strict=True):
        _, type, message = RAISED[what]
        assert (end.status, end.type, end.outcomes) == (FAILED, type, ["failed"]), what
        assert message in end.message and len(end.message) < 2_100, what
        error = end.attempts[0].error
        assert error is not None and error.type == type and error.stack, what
        assert "duetime/runtime" not in error.stack, "the stack begins with the handler's own frames"
    for what, end in zip(twice, again, strict=True):
        assert (end.type, end.outcomes) == (RAISED[what][1], ["failed", "failed"])


async def test_a_failure_that_needs_no_second_try(jobs: Jobs, client: Client) -> None:
    @handler("refuse")
    def refuse(payload: dict[str, str]) -> None:
        match payload["how"]:
            case "reject":
                raise Reject("takes no mail")
            case "temporal":
                raise ApplicationError("gone", type="Gone", non_retryable=True)
            case _:
                raise KeyError("listed")

    async with serving(client, jobs.queue, refuse):
        retry = {"non_retryable": ["KeyError"]}
        ended = await asyncio.gather(
            *(jobs.run("refuse", {"how": how}, retry=retry) for how in ("reject", "temporal", "listed"))
        )
    assert [(end.type, end.message, end.outcomes) for end in ended] == [
        ("Rejected", "takes no mail", ["failed"]),
        ("Gone", "gone", ["failed"]),
        ("KeyError", "'listed'", ["failed"]),
    ]


class Address(BaseModel):
    model_config = ConfigDict(strict=True)

    street: str
    since: date
    key: UUID
    parts: tuple[int, ...] = ()


class Visit(BaseModel):
    address: Address
    at: datetime | None = None

    @field_validator("at")
    @classmethod
    def _careful(cls, at: datetime | None, info: ValidationInfo) -> datetime | None:
        if at is not None and at.year == 1999:
            raise KeyError("the validator itself is broken")
        return at


KEY = "6b7c1f9e-7f5e-4b5a-9f57-0d2f3c1a2b3c"
GOOD = {"address": {"street": "x", "since": "2026-11-30", "key": KEY, "parts": [1, 2]}}


async def test_payloads_are_validated_before_the_handler_runs(jobs: Jobs, client: Client) -> None:
    began: list[str] = []

    @handler("visit")
    async def visit(payload: Visit, job: Job) -> dict[str, Any]:
        began.append(job.id)
        return payload.model_dump(mode="json")

    bad = {"address": {"street": 5, "since": "soon", "key": KEY}}
    async with serving(client, jobs.queue, visit):
        good, wrong, missing, broken = await asyncio.gather(
            jobs.run("visit", GOOD),
            jobs.run("visit", bad),
            jobs.run("visit", {}),
            jobs.run("visit", GOOD | {"at": "1999-01-01T00:00:00Z"}, retry=NO_WAIT | {"max_attempts": 2}),
        )
    assert good.result == {"address": GOOD["address"], "at": None}, "strict models read JSON as JSON"
    assert (wrong.type, wrong.outcomes) == ("InvalidPayload", ["failed"])
    assert "/payload/address/street" in wrong.message and "/payload/address/since" in wrong.message
    assert missing.message == "the handler of 'visit' cannot take this payload: /payload/address: is required"
    assert (broken.type, broken.outcomes) == ("KeyError", ["failed", "failed"])
    assert len(began) == 1


@dataclass
class Sum:
    total: int
    at: datetime


class Broken(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    lock: Any = None


NOW = datetime(2026, 11, 30, tzinfo=UTC)
ring: list[Any] = []
ring.append(ring)

RESULTS: dict[str, tuple[Any, Any]] = {
    "nothing": (None, None),
    "model": (Address(street="x", since=date(2026, 11, 30), key=UUID(KEY), parts=(1,)), {
        "street": "x", "since": "2026-11-30", "key": KEY, "parts": [1]
    }),
    "dataclass": (Sum(5, NOW), {"total": 5, "at": "2026-11-30T00:00:00Z"}),
    "tuple": ((1, "a"), [1, "a"]),
    "big": ({"n": 2**70, "m": -(10**4_000)}, {"n": 2**70, "m": -(10**4_000)}),
    "text": ("a\x00b😀", "a\x00b😀"),
    "looks-like-ours": ({"$duetime": 1, "result": 2}, {"$duetime": 1, "result": 2}),
    "exactly": ("x" * (256 * 1024 - 2), "x" * (256 * 1024 - 2)),
}  # fmt: skip

BAD_RESULTS: dict[str, tuple[Any, str]] = {
    "nan": ({"a": [float("nan")]}, "at /a/0: nan is not a JSON number"),
    "set": ({1, 2}, "set is not a JSON type"),
    "bytes": (b"x", "bytes is not a JSON type"),
    "keys": ({"a": {1: 2}}, "at /a: the key 1 is not text"),
    "surrogate": (["\ud800"], "at /0: a lone surrogate"),
    "digits": (10**5_000, "too many digits"),
    "ring": (ring, "deeper than 100"),
    "nested-model": ({"a": Sum(5, NOW)}, "at /a: Sum is not a JSON type"),
    "unserialisable-model": (Broken(lock=threading.Lock()), "the result: "),
    "too-large": ("x" * (256 * 1024 - 1), "262,145 bytes of JSON; at most 262,144"),
    "far-too-large": ("x" * 5_000_000, "5,000,002 bytes of JSON; at most 262,144"),
    "long-pointer": ({"k" * 5_000_000: float("inf")}, "inf is not a JSON number"),
}


async def test_results(jobs: Jobs, client: Client) -> None:
    @handler("return")
    def give(payload: dict[str, str]) -> Any:
        return (RESULTS.get(payload["what"]) or BAD_RESULTS[payload["what"]])[0]

    async with serving(client, jobs.queue, give):
        good, bad = await asyncio.gather(
            asyncio.gather(*(jobs.run("return", {"what": what}) for what in RESULTS)),
            asyncio.gather(*(jobs.run("return", {"what": what}) for what in BAD_RESULTS)),
        )
    for (_, expected), end in zip(RESULTS.values(), good, strict=True):
        assert end.result == expected
        assert end.outcomes == ["succeeded"]
    for (_, why), end in zip(BAD_RESULTS.values(), bad, strict=True):
        assert (end.type, end.outcomes) == ("InvalidResult", ["failed"])
        assert why in end.message and len(end.message) < 500


PAYLOADS: list[dict[str, Any]] = [
    {},
    {"big": 2**53 + 1, "bigger": 2**64, "negative": -(2**63) - 1, "digits": 10**4_299},
    {"float": 0.1 + 0.2, "tiny": 5e-324, "minus": -0.0, "large": 1e22},
    {"nul": "a\x00b", "literal": "\\u0000", "emoji": "👩‍👩‍👧", "k\x00": 1, "": "", "~/": [None, True]},
    {"deep": [[[[[[[[[[[]]]]]]]]]]]},
    {"x": "x" * (256 * 1024 - 8)},
]


async def test_payloads_come_through_exactly(jobs: Jobs, client: Client) -> None:
    @handler("echo")
    async def echo(payload: dict[str, Any]) -> dict[str, Any]:
        return payload

    async with serving(client, jobs.queue, echo):
        ended = await asyncio.gather(*(jobs.run("echo", payload) for payload in PAYLOADS))
    for payload, end in zip(PAYLOADS, ended, strict=True):
        assert end.result == payload
        assert str(end.result) == str(payload), "signs of zero and digits too"


async def test_a_payload_over_the_bound_is_refused_by_the_workflow(jobs: Jobs) -> None:
    end = await jobs.run("echo", {"x": "x" * (256 * 1024 - 7)})
    assert (end.status, end.type) == (FAILED, "InvalidJob")
    assert end.message == "/payload: 262,145 bytes of JSON; at most 262,144"


async def test_delays_that_the_handler_names(jobs: Jobs, client: Client) -> None:
    @handler("later")
    async def later(payload: dict[str, Any], job: Job) -> list[int]:
        seen = job.checkpoint or []
        await job.save_checkpoint([*seen, job.attempt])
        if len(seen) < 3:
            raise (Snooze if payload["snooze"] else RetryAfter)(0.01)
        return [*seen, job.attempt]

    async with serving(client, jobs.queue, later):
        snoozed, retried, used_up = await asyncio.gather(
            jobs.run("later", {"snooze": True}, retry={"max_attempts": 1}),
            jobs.run("later", {"snooze": False}, retry={"initial_interval": "1h", "max_interval": "1h"}),
            jobs.run("later", {"snooze": False}, retry={"max_attempts": 2}),
        )
    assert snoozed.outcomes == ["snoozed"] * 3 + ["succeeded"]
    assert snoozed.result == [1, 1, 1, 1], "a snooze costs no attempt"
    assert [attempt.number for attempt in snoozed.attempts] == [1, 2, 3, 4]
    assert retried.outcomes == ["failed"] * 3 + ["succeeded"]
    assert retried.result == [1, 2, 3, 4], "the handler's delay counts, not the job's back-off of an hour"
    assert (used_up.type, used_up.outcomes) == ("RetryAfter", ["failed", "failed"])
    for end in (snoozed, retried, used_up):
        assert end.tokens == sorted(set(end.tokens))
