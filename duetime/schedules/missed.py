"""Which times were missed, and which of them are to run after all. Pure: facts in, times out."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from duetime.contracts.limits import SHORTEST_CATCH_UP
from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_book import Book, Server
from duetime.contracts.states import State
from duetime.schedules.grace import is_begun_by_the_server
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


def begins_with_the_oldest(book: Book, spec: ScheduleSpec) -> bool:
    """Whether the server's schedule starts the oldest missed time by itself: one that was written before it was given
    the whole window starts the newest."""
    return is_begun_by_the_server(spec) and timedelta(seconds=book.server_window) >= spec.catch_up.window


def unstarted(book: Book, spec: ScheduleSpec, server: Server) -> int:
    """The server's own count of times that nobody may have started: those it missed, and where it begins with the
    oldest of many, those it skipped meanwhile."""
    return server.missed + (server.skipped if begins_with_the_oldest(book, spec) else 0)


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
    if begins_with_the_oldest(book, spec):
        # What it skipped in a moment's delay met a run that was on time to a user; so is it everywhere.
        gaps = standstills(runs, _delay(spec))
        missing = [at for at in missing if any(begin < at <= end for begin, end in gaps)]
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


def standstills(runs: Collection[Run], shortest: timedelta) -> list[tuple[datetime, datetime]]:
    """The spans in which the schedule started nothing, told by the run that ended each: it was late by more than
    `shortest`, and none was started since its nominal time."""
    starts = sorted(run.started_at for run in runs)
    late = [run for run in runs if run.nominal is not None and run.started_at - run.nominal > shortest]
    return [
        (run.nominal, run.started_at)
        for run in late
        if run.nominal is not None
        and bisect_right(starts, run.nominal) == bisect_left(starts, run.started_at)
    ]


def is_over(spec: ScheduleSpec, runs: Collection[Run], horizon: datetime) -> bool:
    """Whether all times in which the schedule stood still are old enough to judge."""
    return all(end <= horizon for _, end in standstills(runs, _delay(spec)))


def _delay(spec: ScheduleSpec) -> timedelta:
    """How late a run may be without the schedule having stood still."""
    return SHORTEST_CATCH_UP + (spec.jitter if spec.jitter_mode == "random" else timedelta(0))


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
