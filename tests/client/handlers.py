"""Handlers of the conformance suite: what they do is in their payload, and what they saw is in `SEEN`."""

import asyncio
from collections import defaultdict
from typing import Annotated, Any

from pydantic import BaseModel, Field

from duetime import Job, Reject, RetryAfter, Snooze, handler

#: By job: what each attempt saw when it began.
SEEN: dict[str, list[dict[str, Any]]] = defaultdict(list)
#: By job: lets a handler of `conf.hold` go on.
GATES: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

Percent = Annotated[int, Field(ge=0, le=100)]


class Echo(BaseModel):
    value: Any = None
    percent: Percent = 0


def see(job: Job) -> None:
    SEEN[job.id].append(
        {
            "attempt": job.attempt,
            "token": job.fencing_token,
            "key": job.idempotency_key,
            "checkpoint": job.checkpoint,
            "due_at": job.due_at,
        }
    )


@handler("conf.echo")
async def echo(payload: Echo, job: Job) -> Any:
    """Returns what it is given."""
    see(job)
    return payload.value


@handler("conf.thread")
def thread(payload: dict[str, Any], job: Job) -> str:
    see(job)
    job.progress(1, 2, "half way")
    job.save_checkpoint({"from": "a thread"})
    return "done"


@handler("conf.fail", retry={"initial_interval": "1s", "jitter": 0.0})
async def fail(payload: dict[str, Any], job: Job) -> str:
    """Fails `times` times."""
    see(job)
    if job.attempt <= payload["times"]:
        raise ConnectionError(f"attempt {job.attempt}")
    return f"at attempt {job.attempt}"


@handler("conf.raise", retry={"initial_interval": "1s"})
async def raise_(payload: dict[str, Any], job: Job) -> None:
    """Ends its first attempt in the way that is wanted."""
    see(job)
    if len(SEEN[job.id]) > 1:
        return
    await job.save_checkpoint({"step": 1})
    match payload["how"]:
        case "snooze":
            raise Snooze("1s")
        case "retry_after":
            raise RetryAfter("1s", "busy")
        case "reject":
            raise Reject("never")
        case "exit":
            raise SystemExit(3)


@handler("conf.bad-result")
async def bad_result(payload: dict[str, Any]) -> float:
    return float("nan")


@handler("conf.hold")
async def hold(payload: dict[str, Any], job: Job) -> str:
    """Runs until its gate opens; `cleans_up` says what it does when it is cancelled."""
    see(job)
    try:
        await GATES[job.id].wait()
    except asyncio.CancelledError:
        if payload.get("finishes"):
            return "finished all the same"
        raise
    return "let go"


@handler("conf.hang", heartbeat="manual", lease="2s", retry={"max_attempts": 1})
async def hang(payload: dict[str, Any], job: Job) -> None:
    """Gives no sign of life."""
    see(job)
    await asyncio.sleep(3600)


@handler("conf.checkpoint", retry={"initial_interval": "1s"})
async def checkpoint(payload: dict[str, Any], job: Job) -> Any:
    """Saves how often it began, and fails until it is given that it may succeed."""
    see(job)
    begun = (job.checkpoint or 0) + 1
    await job.save_checkpoint(begun)
    if begun < payload["until"]:
        raise ValueError(f"begun {begun} times")
    return begun


ALL = (echo, thread, fail, raise_, bad_result, hold, hang, checkpoint)
