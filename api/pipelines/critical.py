"""The critical path: the chain of jobs that decided when a pipeline ended, or has decided so far how long it takes.

A job is ready when the last of those it needs has ended. So the last job to end, the one that made it ready, the one
that made that ready, and so on, are a path on which no time is lost between jobs: what the steps took adds up to what
the pipeline took. Any other path had time to spare. While the pipeline is open the last job is one that still runs, as
its time so far is the most that is known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

_NONE = timedelta(0)


@dataclass(frozen=True)
class Timed:
    """When a job's first attempt began and when the job ended; `None` for what has not happened.

    A job that never ran (it was skipped, or cancelled in its queue) has an end alone.
    """

    name: str
    needs: tuple[str, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True)
class Step:
    """One job of the path: how long it waited once it was ready, and how long it ran after that."""

    name: str
    waited: timedelta
    ran: timedelta


def critical_path(jobs: Iterable[Timed], began_at: datetime, now: datetime) -> list[Step]:
    """The steps in their order. `began_at` is when the pipeline began: for one that was redriven, that run of it.

    Jobs that ended before that took no time of it, and are left out; so are those that have not become ready.
    """
    known = {job.name: job for job in jobs}
    last = max(
        (job for job in known.values() if _is_ready(job, known) and _end(job, now) > began_at),
        key=lambda job: (_end(job, now), job.started_at is not None, job.name),
        default=None,
    )
    path: list[Step] = []
    while last is not None:
        # What it needs has ended, or it would not be ready; those that ended before this run cost it nothing.
        needed = [known[name] for name in last.needs if _end(known[name], now) > began_at]
        before = max(
            needed, key=lambda job: (_end(job, now), job.started_at is not None, job.name), default=None
        )
        path.append(_step(last, _end(before, now) if before else began_at, now))
        last = before
    return path[::-1]


def _is_ready(job: Timed, known: Mapping[str, Timed]) -> bool:
    return job.ended_at is not None or all(known[name].ended_at is not None for name in job.needs)


def _end(job: Timed, now: datetime) -> datetime:
    return job.ended_at or now


def _step(job: Timed, ready_at: datetime, now: datetime) -> Step:
    # Clocks of a server and of this machine differ a little.
    end = max(_end(job, now), ready_at)
    started = end if job.started_at is None else min(max(job.started_at, ready_at), end)
    return Step(job.name, max(started - ready_at, _NONE), end - started)
