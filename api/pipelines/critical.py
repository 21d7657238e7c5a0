"""The critical path: the chain of jobs that decided when a pipeline ended, or has decided so far how long it takes.

A job is ready when the last of those it needs has ended. So the last job to end, the one that made it ready, the one
that made that ready, and so on, are a path on which no time is lost between jobs: what the steps took adds up to what
the pipeline took. Any other path had time to spare. While the pipeline is open the last job is one that still runs, as
its time so far is the most that is known.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Timed:
    """When a job's first attempt began and when the job ended; `None` for what has not happened.

    A job that never ran (it was skipped, or cancelled in its queue) has an end alone; one that waits for a worker has
    `begun` and neither.
    """

    name: str
    needs: tuple[str, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    begun: bool = False


@dataclass(frozen=True)
class Step:
    """One job of the path: how long it waited once it was ready, and how long it ran after that."""

    name: str
    waited: timedelta
    ran: timedelta


def critical_path(jobs: Iterable[Timed], began_at: datetime, now: datetime) -> list[Step]:
    """The steps in their order. `began_at` is when the pipeline began: for one that was redriven, that run of it.

    Jobs that ended before that took no time of it, and are left out; so are those that have not begun.
    """
    known = {job.name: job for job in jobs}

    def latest(found: Iterable[Timed]) -> Timed | None:
        return max(
            found, key=lambda job: (_end(job, now), job.started_at is not None, job.name), default=None
        )

    def before(job: Timed) -> Timed | None:
        """The one that made it ready. A condition such as `any_failed` may hold while other needs still run."""
        ready_by = job.started_at or _end(job, now)
        needed = (known[name] for name in job.needs)
        return latest(each for each in needed if each.ended_at and began_at < each.ended_at <= ready_by)

    last = latest(job for job in known.values() if _has_begun(job) and _end(job, now) > began_at)
    path: list[Step] = []
    while last is not None:
        previous = before(last)
        path.append(_step(last, _end(previous, now) if previous else began_at, now))
        last = previous
    return path[::-1]


def _has_begun(job: Timed) -> bool:
    return job.begun or job.started_at is not None or job.ended_at is not None


def _end(job: Timed, now: datetime) -> datetime:
    return job.ended_at or now


def _step(job: Timed, ready_at: datetime, now: datetime) -> Step:
    # Clocks of a server and of this machine differ a little.
    end = max(_end(job, now), ready_at)
    started = end if job.started_at is None else min(max(job.started_at, ready_at), end)
    return Step(job.name, started - ready_at, end - started)
