"""The handlers of the fault suite: each tells a journal what it does, and has its effects through the ledger.

`FAULTS_BREAK` makes a mistake on purpose, for the tests that the checker finds it: `fence` leaves out the fence, `mark`
marks an effect as done in a transaction of its own.
"""

import asyncio
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from duetime import Job, handler
from duetime.connection import worker_identity
from duetime.effects import StaleToken, fenced, once
from tests.faults import receiver
from tests.faults.journal import Journal

FOLDER = Path(os.environ.get("FAULTS_FOLDER", "."))
BREAK = os.environ.get("FAULTS_BREAK", "")
WORKER = worker_identity()


@cache
def journal() -> Journal:
    return Journal(FOLDER / f"worker-{os.getpid()}.jsonl")


@cache
def engine(ledger: str) -> Engine:
    return receiver.connect(os.environ[f"FAULTS_{ledger.upper()}"])


def tell(event: str, job: Job, **facts: Any) -> None:
    journal().write(event, job=job.id, token=job.fencing_token, worker=WORKER, **facts)


def deliver(job: Job, ledger: str, key: str, *, between: Callable[[], None] = lambda: None) -> bool:
    """One effect under `key`, with `between` in the middle of its transaction; whether this was the first time."""

    def write(connection: Connection, table: Any) -> None:
        receiver.note(connection, table, job.id, key, job.fencing_token, WORKER)

    with engine(ledger).begin() as connection:
        if BREAK != "fence":
            fenced(connection, resource=f"job:{job.id}", token=job.fencing_token)
        write(connection, receiver.WRITES)
        if BREAK != "mark":
            first = once(connection, key=key)
            between()
            if first:
                write(connection, receiver.DELIVERIES)
    if BREAK == "mark":
        with engine(ledger).begin() as connection:
            first = once(connection, key=key)
        between()
        if first:
            with engine(ledger).begin() as connection:
                write(connection, receiver.DELIVERIES)
    tell("effect", job, key=key, first=first)
    return first


def work(payload: dict[str, Any], job: Job) -> bool:
    """The effect of a job that has one, with a pause in its transaction."""
    pause = payload.get("pause", 0)
    return deliver(job, payload["ledger"], job.idempotency_key, between=lambda: time.sleep(pause))


class Telling:
    """Tells when a handler began and how it ended."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __enter__(self) -> None:
        tell("begin", self._job, attempt=self._job.attempt, checkpoint=self._job.checkpoint)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        tell("end", self._job, how="returned" if kind is None else kind.__name__)


@handler("fault.effect")
async def effect(payload: dict[str, Any], job: Job) -> bool:
    """Works, has its effect, works on."""
    with Telling(job):
        await asyncio.sleep(payload["work"])
        first = await asyncio.to_thread(work, payload, job)
        await asyncio.sleep(payload["work"])
        return first


@handler("fault.thread")
def in_thread(payload: dict[str, Any], job: Job) -> bool:
    """The same in a thread."""
    with Telling(job):
        time.sleep(payload["work"])
        first = work(payload, job)
        time.sleep(payload["work"])
        return first


@handler("fault.steps")
async def steps(payload: dict[str, Any], job: Job) -> int:
    """Several effects, with a checkpoint after each."""
    with Telling(job):
        for step in range(job.checkpoint or 0, payload["steps"]):
            await asyncio.sleep(payload["work"])
            await asyncio.to_thread(deliver, job, payload["ledger"], f"{job.idempotency_key}:{step}")
            await job.save_checkpoint(step + 1)
            tell("saved", job, checkpoint=step + 1)
        return int(payload["steps"])


@handler("fault.flaky")
async def flaky(payload: dict[str, Any], job: Job) -> bool:
    """Fails at its first attempts, after its effect."""
    with Telling(job):
        first = await asyncio.to_thread(deliver, job, payload["ledger"], job.idempotency_key)
        if job.attempt <= payload["failures"]:
            raise ConnectionError(f"failure {job.attempt}")
        return first


# -- for single scenes: they wait for files, so that a test can do something meanwhile -----------------------------


def wait_for(name: str, job: Job) -> None:
    """Until there is such a file, whatever stops the handler."""
    while True:
        try:
            while not (FOLDER / name).exists():
                time.sleep(0.02)
            return
        except BaseException:
            tell("stopped", job)


@handler("fault.zombie")
def zombie(payload: dict[str, Any], job: Job) -> str:
    """The first attempt waits before its effect until it is woken, and goes on although it is told to stop."""
    with Telling(job):
        if job.checkpoint is None:
            job.save_checkpoint(1)
            tell("ready", job)
            wait_for("wake", job)
        try:
            deliver(job, payload["ledger"], job.idempotency_key)
        except StaleToken as stale:
            tell("stale", job, seen=stale.seen)
            raise
        return f"attempt with {job.fencing_token}"


@handler("fault.gap")
def gap(payload: dict[str, Any], job: Job) -> bool:
    """Waits in the middle of its effect until a file lets it go on."""

    def between() -> None:
        tell("ready", job)
        wait_for("go-on", job)

    with Telling(job):
        return deliver(job, payload["ledger"], job.idempotency_key, between=between)


@handler("fault.poison")
async def poison(payload: dict[str, Any], job: Job) -> None:
    """Kills its worker, once that was heard of if `acknowledged`."""
    tell("begin", job, attempt=job.attempt, checkpoint=None)
    if payload["acknowledged"]:
        await job.save_checkpoint(job.attempt)
    os.kill(os.getpid(), 9)


@handler("fault.long")
async def long(payload: dict[str, Any], job: Job) -> str:
    """Takes as long as it is told."""
    with Telling(job):
        await asyncio.sleep(payload["seconds"])
        return WORKER
