"""`Job`: what a handler knows of its job, and the few things it can say while it runs."""

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Coroutine, Generator, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from duetime.contracts import limits
from duetime.contracts.json_value import JsonValueError, check_json, sendable
from duetime.contracts.record import Assignment, Progress, cut

if TYPE_CHECKING:
    from duetime.runtime.lease import Lease


class _Done:
    """What a `def` handler gets back, which has waited already; awaiting it does no harm."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


class JobLog(logging.LoggerAdapter[logging.Logger]):
    """Says in every line which job and attempt speaks, beside what the caller's own `extra` says."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        told = dict(self.extra or {})
        kwargs["extra"] = {**told, **(kwargs.get("extra") or {})}
        job_id = str(told["job_id"]).replace("%", "%%")
        return f"[{job_id} attempt {told['attempt']}] {msg}", kwargs


@dataclass(frozen=True)
class Facts:
    """What stays the same during one attempt."""

    assignment: Assignment
    attempt: int
    fencing_token: int
    checkpoint: Any


class Job:
    """The job that a handler runs, from the handler's side. Safe to use from the loop and from threads."""

    def __init__(self, facts: Facts, lease: "Lease", loop: asyncio.AbstractEventLoop) -> None:
        self._facts = facts
        self._lease = lease
        self._loop = loop
        told = {"job_id": self.id, "attempt": self.attempt}
        self.log = JobLog(logging.getLogger(f"duetime.job.{self.kind}"), told)

    @property
    def id(self) -> str:
        return self._facts.assignment.id

    @property
    def kind(self) -> str:
        return self._facts.assignment.kind

    @property
    def queue(self) -> str:
        return self._facts.assignment.queue

    @property
    def attempt(self) -> int:
        """Which of `max_attempts` this is, from 1; a snooze or an interruption does not move it."""
        return self._facts.attempt

    @property
    def max_attempts(self) -> int:
        return self._facts.assignment.max_attempts

    @property
    def due_at(self) -> datetime:
        return self._facts.assignment.due_at

    @property
    def nominal_time(self) -> datetime | None:
        """The instant that a schedule's rule named, before jitter; `None` for other jobs."""
        return self._facts.assignment.nominal_time

    @property
    def fencing_token(self) -> int:
        """64-bit, greater than that of every attempt of this job that started before."""
        return self._facts.fencing_token

    @property
    def idempotency_key(self) -> str:
        """The same in every attempt and redrive of this job, another when its id is used again."""
        return self._facts.assignment.idempotency_key

    @property
    def checkpoint(self) -> Any:
        """What an earlier attempt saved last, or `None`."""
        return self._facts.checkpoint

    @property
    def cancelled(self) -> bool:
        """The lease is lost, or somebody wants the job to stop. For loops in threads."""
        return self._lease.stopped

    def save_checkpoint(self, value: Any) -> Awaitable[None]:
        """Keeps `value` (JSON, up to 64 KiB) for the next attempt; done when the server has it.

        `await` it in an `async def` handler; in a `def` handler the call itself waits. `ValueError` when the value
        is not JSON or too large. When the lease is lost meanwhile the handler is cancelled.
        """
        try:
            check_json(value, limits.CHECKPOINT_BYTES)
        except JsonValueError as fault:
            raise ValueError(fault.about("the checkpoint")) from None
        # A copy: what the handler changes in `value` afterwards is not saved before it says so.
        return self._say(self._lease.save_checkpoint(json.loads(json.dumps(value))))

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Shows how far the work is. Renews a manual lease. Cheap: the server hears of it within a second or so.

        `ValueError` when a number is not finite.
        """
        if not math.isfinite(done) or not math.isfinite(total or 0):
            raise ValueError(f"progress is told in finite numbers, not {done!r} of {total!r}")
        text = None if message is None else cut(sendable(str(message)), limits.PROGRESS_MESSAGE_LENGTH)
        said = Progress(done=done, total=total, message=text, at=datetime.now(UTC))
        self._lease.show_progress(said)
        self._loop.call_soon_threadsafe(self._lease.tell_news)

    def heartbeat(self) -> None:
        """Renews a manual lease. Cheap: call it as often as you like."""
        self._loop.call_soon_threadsafe(self._lease.touch)

    def _say(self, saying: Coroutine[Any, Any, None]) -> Awaitable[None]:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            return asyncio.ensure_future(saying)
        said = asyncio.run_coroutine_threadsafe(saying, self._loop)
        if here is not None:
            return asyncio.wrap_future(said)
        said.result()
        return _Done()
