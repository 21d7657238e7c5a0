"""Which times were missed, and which of them are to run after all. Pure: facts in, times out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_book import Book
from duetime.contracts.states import State
from duetime.schedules.times import expected

#: Beyond all that, for what was started to show.
SLACK = timedelta(seconds=2)
#: How far before an edit a time may lie that the edit took from the server.
EDIT_REACH = timedelta(seconds=15)
#: Made up at one go; the server buffers a thousand.
MOST = 500


@dataclass(frozen=True)
class Run:
    """A run of a schedule, as the search index knows it; `job_id` is that of the job or the pipeline."""

    job_id: str
    nominal: datetime | None
    started_at: datetime
    closed_at: datetime | None
    state: State
    is_pipeline: bool = False

    def is_open_at(self, at: datetime) -> bool:
        return self.started_at <= at and (self.closed_at is None or self.closed_at > at)


@dataclass(frozen=True)
class Judgement:
    """Times to make up, and up to where all is decided. `more` is left for another look."""

    times: list[datetime]
    judged_until: datetime
    more: bool = False


def blocking(spec: ScheduleSpec, at: datetime, runs: Collection[Run], nominal: datetime) -> Run | None:
    """The run for whose sake a time did not start, which only some policies have."""
    if spec.overlap in ("allow", "cancel_running", "terminate_running"):
        return None
    return next((run for run in runs if run.nominal != nominal and run.is_open_at(at)), None)


def settled_until(book: Book, spec: ScheduleSpec, now: datetime, *, is_present: bool) -> datetime:
    """Times up to here the server has started by now, or never will: all, once it is known to have come to the present,
    and else those beyond its catch-up window."""
    jitter = spec.jitter if spec.jitter_mode == "random" else timedelta(0)
    window = timedelta(0) if is_present else timedelta(seconds=book.server_window)
    return now - jitter - window - SLACK


def judge(
    book: Book, spec: ScheduleSpec, horizon: datetime, server_now: datetime, runs: Sequence[Run]
) -> Judgement:
    """The times from `book.judged_until` to `horizon` that nobody started in time, by the catch-up policy."""
    jitter = spec.jitter if spec.jitter_mode == "random" else timedelta(0)
    if horizon <= book.judged_until:
        return Judgement([], book.judged_until)
    since = max(book.judged_until, server_now - spec.catch_up.window)
    missing = _missing(book, spec, since, horizon, runs)
    match spec.catch_up.policy:
        case "none":
            missing = []
        case "latest":
            # What came since is the latest, whether the server started it late or a run was in its way.
            newer = missing and expected(book, missing[-1], server_now - jitter)
            missing = missing[-1:] if not newer else []
        case "all" if len(missing) > MOST:
            return Judgement(missing[:MOST], missing[MOST - 1], more=True)
    return Judgement(missing, horizon)


def judge_edit(book: Book, spec: ScheduleSpec, edited_at: datetime, runs: Sequence[Run]) -> list[datetime]:
    """The times that an edit took from the server, which starts nothing from before it.

    They were not missed by anybody, so they run whatever the catch-up policy.
    """
    return _missing(book, spec, reach_of_edit(book, spec, edited_at), edited_at, runs)


def reach_of_edit(book: Book, spec: ScheduleSpec, edited_at: datetime) -> datetime:
    """The instant since which times may have been lost to an edit."""
    jitter = spec.jitter if spec.jitter_mode == "random" else timedelta(0)
    return max(edited_at - EDIT_REACH - jitter, book.created_at)


def _missing(
    book: Book, spec: ScheduleSpec, after: datetime, until: datetime, runs: Sequence[Run]
) -> list[datetime]:
    ran = {run.nominal for run in runs}
    return [
        at for at in expected(book, after, until) if at not in ran and blocking(spec, at, runs, at) is None
    ]
