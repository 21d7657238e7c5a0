"""Many submissions in few calls."""

import asyncio
import json
import random
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from duetime.client.answer import read
from duetime.client.call import Call
from duetime.client.patience import PASSING, Fate, wait_before_repeat
from duetime.client.sender import Sender
from duetime.contracts import limits
from duetime.contracts.problem import ProblemView
from duetime.contracts.view import JobView
from duetime.errors import ApiError, api_error

#: Room for what surrounds the jobs in a body.
_FRAME = 1024


class BatchItem(BaseModel):
    """What became of one job of a batch: `job`, or the `problem` for which it was refused."""

    status: int
    job: JobView | None = None
    problem: ProblemView | None = None

    @property
    def error(self) -> ApiError | None:
        """The refusal as the exception that it would have been alone."""
        return api_error(self.problem) if self.problem is not None else None

    def accepted(self) -> JobView:
        """The job; raises the refusal."""
        if (error := self.error) is not None:
            raise error
        assert self.job is not None
        return self.job


class BatchAnswer(BaseModel):
    """An answer for each job, in their order."""

    jobs: list[BatchItem]


def chunks(bodies: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """`bodies` in their order, in lists that one call may carry: 1,000 jobs, 8 MiB."""
    chunk: list[dict[str, Any]] = []
    size = _FRAME
    for body in bodies:
        length = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()) + 1
        if chunk and (len(chunk) == limits.BATCH_JOBS or size + length > limits.BATCH_BYTES):
            yield chunk
            chunk, size = [], _FRAME
        chunk.append(body)
        size += length
    if chunk:
        yield chunk


async def hand_over(sender: Sender, call: Call) -> list[BatchItem]:
    """What became of each job of a batch.

    When a later try may do better with some, all are sent again under the same key; what was accepted once stays
    accepted.
    """
    until = time.monotonic() + sender.patience.total_seconds()
    tries = 0
    items: list[BatchItem] = []
    while True:
        answered = read(BatchAnswer, await sender.send(call)).jobs
        items = [
            old if old.job is not None else new for old, new in zip(items or answered, answered, strict=True)
        ]
        left = timedelta(seconds=until - time.monotonic())
        tries += 1
        chance = random.random()  # noqa: S311
        wait = wait_before_repeat(Fate.UNKNOWN, call.repeat, tries, left, chance, None)
        if wait is None or not any(item.status in PASSING for item in items):
            return items
        await asyncio.sleep(wait.total_seconds())
