"""Handlers in other languages: an activity named like the kind that takes the payload and the job."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from duetime.contracts.record import Assignment
from tests.support.jobs import NO_WAIT, Jobs, held, outcome_of

CANCELED = WorkflowExecutionStatus.CANCELED


@asynccontextmanager
async def foreign(client: Client, queue: str, *activities: Any) -> AsyncIterator[None]:
    """A worker that knows nothing of Duetime."""
    async with Worker(client, task_queue=queue, activities=activities):
        yield


def raw(data: bytes, encoding: str) -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


RETURNED: dict[str, tuple[Any, Any]] = {
    "object": ({"rows": 5}, {"rows": 5}),
    "text": ("done", "done"),
    "nothing": (None, None),
    "big": ({"n": 2**70}, {"n": 2**70}),
    "looks like ours": ({"$duetime": "no"}, {"$duetime": "no"}),
    "json/protobuf": (raw(b'{"a": "b"}', "json/protobuf"), {"a": "b"}),
}
BAD_RETURNED: dict[str, tuple[Any, str]] = {
    "bytes": (b"\x00\x01", "the handler's result is not JSON but binary/plain"),
    "NaN": (raw(b'{"a": NaN}', "json/plain"), "the handler's result is not JSON: NaN is not a JSON number"),
    "no JSON": (raw(b"{", "json/plain"), "the handler's result is not JSON: "),
    "surrogate": (
        raw(b'"\\ud800"', "json/plain"),
        "the handler's result: a lone surrogate is not Unicode text",
    ),
    "no encoding": (raw(b"x", ""), "the handler's result is not JSON but of no encoding"),
    "too large": ("x" * 300_000, "the handler's result: 300,002 bytes of JSON; at most 262,144"),
    "near the engine's own limit": (
        "x" * 2_000_000,
        "the handler's result: 2,000,002 bytes of JSON; at most",
    ),
}


async def test_results(jobs: Jobs, client: Client) -> None:
    seen: list[Any] = []

    @activity.defn(name="export")
    async def export(payload: dict[str, Any], job: dict[str, Any]) -> Any:
        seen.append(job)
        return (RETURNED.get(payload["what"]) or BAD_RETURNED[payload["what"]])[0]

    async with foreign(client, jobs.queue, export):
        good, bad = await asyncio.gather(
            asyncio.gather(*(jobs.run("export", {"what": what}) for what in RETURNED)),
            asyncio.gather(*(jobs.run("export", {"what": what}) for what in BAD_RETURNED)),
        )
    for (_, expected), end in zip(RETURNED.values(), good, strict=True):
        assert (end.result, end.outcomes) == (expected, ["succeeded"])
    for (_, why), end in zip(BAD_RETURNED.values(), bad, strict=True):
        assert (end.type, end.outcomes) == ("InvalidResult", ["failed"])
        assert end.message.startswith(why)
    assignment = Assignment.model_validate(seen[0])
    assert (assignment.kind, assignment.queue, assignment.max_attempts) == ("export", jobs.queue, 5)
    assert assignment.idempotency_key.startswith(f"{assignment.id}:")
    assert "record" not in seen[0], "the job of a first attempt is short"


async def test_failures(jobs: Jobs, client: Client) -> None:
    @activity.defn(name="fail")
    async def fail(payload: dict[str, Any], job: dict[str, Any]) -> None:
        if payload["how"] == "huge":
            raise ValueError("x" * 1_000_000)
        if payload["how"] == "loops":
            activity.heartbeat({"$duetime": 1, "record": "nonsense"})
            raise ApplicationError(
                "mine", {"$duetime": 1, "record": 5}, type="Interrupted", non_retryable=True
            )
        if payload["how"] == "recovers" and activity.info().attempt < 3:
            raise ValueError("not yet")

    async with foreign(client, jobs.queue, fail):
        huge, loops, recovers = await asyncio.gather(
            jobs.run("fail", {"how": "huge"}, retry=NO_WAIT | {"max_attempts": 2}),
            jobs.run("fail", {"how": "loops"}),
            jobs.run("fail", {"how": "recovers"}, retry=NO_WAIT),
        )
    assert (huge.type, huge.outcomes) == ("ValueError", ["failed"]), "of its attempts the last is known"
    assert len(huge.message) < 2_100 and huge.attempts[0].worker == client.identity
    assert (loops.type, loops.message, loops.outcomes) == ("Interrupted", "mine", ["failed"])
    assert recovers.outcomes == ["succeeded"]


async def test_a_lost_lease_and_a_cancellation(jobs: Jobs, client: Client) -> None:
    @activity.defn(name="hang")
    async def hang(payload: dict[str, Any], job: dict[str, Any]) -> str:
        if job["dispatch"] == "2" if payload["dies"] else False:
            return f"{job['attempts_used']} used"
        while not payload["dies"]:
            activity.heartbeat("alive")
            await asyncio.sleep(0.1)
        activity.heartbeat("only once")
        await asyncio.Event().wait()
        return ""

    async with foreign(client, jobs.queue, hang):
        dying = await jobs.start("hang", {"dies": True}, lease="2s", retry=NO_WAIT)
        running = await jobs.start("hang", {"dies": False}, lease="2s")
        await held(running)
        await running.cancel()
        cancelled, lost = await asyncio.gather(outcome_of(running), outcome_of(dying))
    assert (cancelled.status, cancelled.outcomes) == (CANCELED, ["cancelled"])
    assert cancelled.attempts[0].worker == client.identity
    assert (lost.result, lost.outcomes) == ("1 used", ["lease_lost", "succeeded"])
    assert lost.attempts[0].acknowledged and lost.attempts[0].dispatch == "1"


async def test_an_activity_of_one_argument_fails_readably(jobs: Jobs, client: Client) -> None:
    @activity.defn(name="one")
    async def one(payload: dict[str, Any]) -> None: ...

    @activity.defn(dynamic=True)
    async def anything(arguments: Sequence[RawValue]) -> int:
        return len(arguments)

    async with foreign(client, jobs.queue, one, anything):
        wrong = await jobs.run("one", retry={"max_attempts": 1})
        assert (await jobs.run("any")).result == 2
    assert wrong.type == "TypeError" and wrong.outcomes == ["failed"]
