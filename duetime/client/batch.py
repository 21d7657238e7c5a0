"""Many submissions in few calls."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

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
