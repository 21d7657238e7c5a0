"""What each run of a schedule is on the server: workflow `Job` with its job, or `Pipeline` with its pipeline. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from temporalio.common import Priority, SearchAttributePair

from duetime import attributes
from duetime.contracts.duration import format_duration
from duetime.contracts.job import JOB, JobSpec, spread_offset
from duetime.contracts.pipeline import PIPELINE, PipelineSpec
from duetime.contracts.schedule_book import Book
from duetime.starting import priority_of


@dataclass(frozen=True)
class Work:
    """The start of a run, but for its id and its times."""

    type: str
    arguments: list[Any]
    attributes: list[SearchAttributePair[Any]]
    priority: Priority
    summary: str


def jobs_of(book: Book) -> Sequence[JobSpec]:
    """All jobs that a run of the schedule has."""
    if book.pipeline is None:
        return [JobSpec.model_validate(book.job)]
    return list(PipelineSpec.model_validate(book.pipeline).jobs.values())


def work_of(book: Book, due_at: datetime, priority: int | None = None) -> Work:
    """A run that is due at `due_at`; with `priority` in place of what its jobs say themselves."""
    if book.pipeline is not None:
        return _pipeline(book.pipeline, priority)
    job = book.job | ({"priority": priority} if priority is not None else {})
    spec = JobSpec.model_validate(job)
    found = list(attributes.of_job(spec, due_at).search_attributes)
    return Work(JOB, [job], found, priority_of(spec), spec.kind)


def work_by_the_rule(book: Book) -> Work:
    """A run that the server starts: it takes the same input each time, so that only a stable jitter moves it, and the
    index does not know when it is due."""
    work, spec = work_of(book, book.created_at), book.parsed
    found = [pair for pair in work.attributes if pair.key != attributes.DUE_AT]
    arguments = work.arguments
    if spec.jitter_mode == "stable" and spec.jitter:
        delay = format_duration(spread_offset(book.id, spec.jitter))
        (given,) = arguments
        # A pipeline's workflow is told beside its pipeline, as it tells itself when it goes on in a fresh history.
        arguments = [given, {"$duetime": 1, "delay": delay}] if book.pipeline else [given | {"delay": delay}]
    return Work(work.type, arguments, found, work.priority, work.summary)


def _pipeline(pipeline: dict[str, Any], priority: int | None) -> Work:
    jobs: dict[str, Any] = pipeline["jobs"]
    if priority is not None:
        jobs = {name: job | {"priority": priority} for name, job in jobs.items()}
    return Work(PIPELINE, [pipeline | {"jobs": jobs}], [], Priority(), f"{len(jobs):,} jobs")
