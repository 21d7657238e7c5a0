"""Many submissions in one call: each is accepted or refused for itself, as if it had come alone."""

import asyncio
import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError
from temporalio.service import RPCError

from api.jobs.submission import Submitter
from api.patience import answer_in_time
from api.problems import Problem, from_rpc, invalid, too_large, unavailable
from api.together import together
from duetime.contracts import limits
from duetime.contracts.explain import Fault, explain
from duetime.contracts.job import Contract
from duetime.contracts.json_value import JsonTooLarge
from duetime.contracts.requests import Submission
from duetime.contracts.view import JobView

log = logging.getLogger("duetime.api")

#: Submissions under way at the same time, over all batches of an API instance.
_AT_ONCE = 16
#: Reasons of a `503` after which the rest of a batch is not tried.
_HOPELESS = {"temporal_unreachable", "temporal_busy"}
_NOT_TRIED = (
    "not tried, as Temporal could not be reached for a job before it: repeat the batch; jobs with an id, "
    "or all of them with an Idempotency-Key, are not started twice"
)
_OURS = "this is a fault of ours; it was logged"


class Batch(Contract):
    """Up to 1,000 jobs to run."""

    # Each is read for itself, so that one which is wrong does not refuse the others.
    jobs: list[Any] = Field(
        max_length=limits.BATCH_JOBS,
        json_schema_extra={"items": {"$ref": "#/components/schemas/Submission"}},
    )


@dataclass(frozen=True)
class Answered:
    """What became of one job of a batch: `201` or `200` with the job, or a problem."""

    status: int
    job: JobView | None = None
    problem: Problem | None = None

    def body(self) -> dict[str, Any]:
        if self.problem is not None:
            return {"status": self.status, "problem": self.problem.body()}
        assert self.job is not None
        return {"status": self.status, "job": self.job.model_dump(mode="json")}


class BatchSubmitter:
    """Submits batches."""

    def __init__(self, submitter: Submitter) -> None:
        self._submitter = submitter
        self._places = asyncio.Semaphore(_AT_ONCE)

    def submitting_with(self, submitter: Submitter) -> "BatchSubmitter":
        """The same for whoever `submitter` submits for."""
        other = copy.copy(self)
        other._submitter = submitter
        return other

    async def submit(self, jobs: Sequence[Any], key: str | None) -> list[Answered]:
        """An answer for each job, in their order. The key of each is `key/index`."""
        run = _Run(self._submitter, self._places, key)
        answers: list[Answered | None] = [None] * len(jobs)
        lines: dict[str, list[tuple[int, Submission]]] = {}
        for index, body in enumerate(jobs):
            read = read_item(index, body)
            if isinstance(read, Submission):
                # Jobs of one id wait for each other: which of them is in the way of which is then no matter of luck.
                lines.setdefault(read.id or f"~{index}", []).append((index, read))
            else:
                answers[index] = Answered(read.status, problem=read)

        async def go(line: list[tuple[int, Submission]]) -> None:
            for index, submission in line:
                answers[index] = await run.submit(index, submission, jobs[index])

        await together(go(line) for line in lines.values())
        return [answer for answer in answers if answer is not None]


def read_item(index: int, body: Any) -> Submission | Problem:
    """One job of a batch, or what is wrong with it; pointers are into the batch."""
    try:
        return Submission.model_validate(body)
    except ValidationError as error:
        for detail in error.errors():
            cause = detail.get("ctx", {}).get("error")
            if isinstance(cause, JsonTooLarge):
                return too_large("the payload", cause.size, cause.limit)
        return _in_batch(index, invalid(explain(error, Submission, body)))


def _in_batch(index: int, problem: Problem) -> Problem:
    """The same problem with its pointers into the batch; a header is what it is."""
    faults: list[Fault] = [
        {"pointer": f"/jobs/{index}{fault['pointer']}", "message": fault["message"]}
        if not fault["pointer"].startswith("header ")
        else fault
        for fault in problem.errors or ()
    ]
    if problem.name == "invalid":
        return invalid(faults)
    return Problem(
        problem.status, problem.name, problem.title, problem.detail, errors=faults, extra=problem.extra
    )


class _Run:
    """One batch under way. Once Temporal is away the rest is not tried: it would only make the caller wait."""

    def __init__(self, submitter: Submitter, places: asyncio.Semaphore, key: str | None) -> None:
        self._submitter = submitter
        self._places = places
        self._key = key
        self._hopeless = False

    async def submit(self, index: int, submission: Submission, body: Any) -> Answered:
        key = f"{self._key}/{index}" if self._key is not None else None
        async with self._places:
            if self._hopeless:
                return self._refused(index, unavailable(_NOT_TRIED))
            try:
                # A time for the whole of it: what it waits for may be several calls.
                accepted = await answer_in_time(self._submitter.submit(submission, key, body))
            except RPCError as error:
                return self._refused(index, from_rpc(error))
            except Problem as problem:
                return self._refused(index, problem)
            except Exception as error:
                log.error("unexpected error at job %d of a batch", index, exc_info=error)
                return self._refused(index, Problem(500, "internal", "Internal error", _OURS))
        return Answered(201 if accepted.created else 200, accepted.view)

    def _refused(self, index: int, problem: Problem) -> Answered:
        if problem.status == 503 and problem.extra.get("reason") in _HOPELESS:
            self._hopeless = True
        return Answered(problem.status, problem=_in_batch(index, problem))
