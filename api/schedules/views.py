"""A book and what the server tells, as they are answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from duetime.contracts.schedule_book import Backfill, Book, PauseSpan, Server
from duetime.contracts.schedule_view import (
    BackfillView,
    NextFire,
    ScheduleCounters,
    ScheduleLinks,
    SchedulePauseView,
    ScheduleRun,
    ScheduleState,
    ScheduleSummary,
    ScheduleView,
)
from duetime.contracts.states import State
from duetime.cron import Fire
from duetime.cron.reading import read_fields
from duetime.schedules.changes import adopted
from duetime.schedules.missed import Run
from duetime.schedules.times import upcoming
from duetime.schedules.work import jobs_of

_NEXT = 10
_GONE = "somebody deleted this schedule on the Temporal server: nothing starts until it is put again"


def view_of(
    book: Book,
    server: Server,
    runs: Sequence[Run],
    last_success: Run | None,
    now: datetime,
    links: ScheduleLinks,
) -> ScheduleView:
    """The schedule as it is answered."""
    book = _with_pause_of_failure(book, server, runs, now)
    counted, ahead = book.counted, _ahead(book, now, _NEXT)
    gone = not server.exists and ahead.state is not ScheduleState.FINISHED
    return ScheduleView(
        id=book.id,
        state=ahead.state,
        revision=book.revision,
        spec=book.spec,
        in_words=book.in_words,
        created_at=book.created_at,
        updated_at=book.updated_at,
        updated_by=book.updated_by,
        paused=pause_view(book.pause),
        next=[NextFire(utc=fire.utc, local=fire.local.isoformat()) for fire in ahead.fires],
        last_runs=[_run(run) for run in runs],
        last_success=_run(last_success) if last_success else None,
        running=[run.job_id for run in runs if run.closed_at is None],
        queued=server.queued,
        counters=ScheduleCounters(
            fired=server.fired,
            skipped_by_overlap=max(0, server.skipped - counted.made_up_of_skipped),
            missed=server.missed + counted.made_up_of_skipped,
            made_up=counted.made_up,
            triggered=counted.triggered,
            backfilled=counted.backfilled,
        ),
        skipped=[skip.at for skip in book.skips if skip.at > now],
        backfills=[backfill_view(backfill) for backfill in reversed(book.backfills)],
        runs_left=book.runs_left,
        exact_until=book.exact_until,
        warnings=[*ahead.warnings, *([ahead.fault] if ahead.fault else []), *([_GONE] if gone else [])],
        links=links,
    )


def summary_of(book: Book, now: datetime) -> ScheduleSummary:
    """The schedule in a list, by its book alone."""
    jobs = jobs_of(book)
    alone = jobs[0] if book.pipeline is None else None
    ahead = _ahead(book, now, 1)
    return ScheduleSummary(
        id=book.id,
        state=ahead.state,
        revision=book.revision,
        in_words=book.in_words,
        kind=alone.kind if alone else None,
        queue=alone.queue if alone else None,
        kinds=sorted({job.kind for job in jobs}),
        queues=sorted({job.queue for job in jobs}),
        tags=list(dict.fromkeys(tag for job in jobs for tag in job.tags)),
        note=str(book.spec.get("note") or ""),
        created_at=book.created_at,
        updated_at=book.updated_at,
        updated_by=book.updated_by,
        paused=pause_view(book.pause),
        next_at=ahead.fires[0].utc if ahead.fires else None,
        fault=ahead.fault,
    )


@dataclass(frozen=True)
class _Ahead:
    """What is to come of a schedule, or why nobody can tell."""

    state: ScheduleState
    fires: list[Fire] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    fault: str | None = None


def _ahead(book: Book, now: datetime, count: int) -> _Ahead:
    """The next `count` times. A rule that this release cannot read, its zone being gone, takes nothing else down."""
    paused = ScheduleState.PAUSED if book.pause is not None else None
    try:
        rule = read_fields(book.parsed, book.id)
        found = list(islice(upcoming(book, now), count))
    except ValueError as error:
        return _Ahead(paused or ScheduleState.ACTIVE, fault=f"the rule cannot be read any more: {error}")
    state = ScheduleState.ACTIVE if found else ScheduleState.FINISHED
    return _Ahead(paused or state, found, rule.warnings)


def pause_view(pause: PauseSpan | None) -> SchedulePauseView | None:
    if pause is None:
        return None
    return SchedulePauseView(
        reason=pause.reason, by=pause.by, since=pause.since, until=pause.until, source=pause.source
    )


def backfill_view(backfill: Backfill) -> BackfillView:
    return BackfillView.model_validate(backfill.model_dump())


def _run(run: Run) -> ScheduleRun:
    return ScheduleRun(
        job_id=None if run.is_pipeline else run.job_id,
        pipeline_id=run.job_id if run.is_pipeline else None,
        nominal_time=run.nominal,
        started_at=run.started_at,
        finished_at=run.closed_at,
        state=run.state,
    )


def etag(revision: int) -> str:
    return f'"{revision}"'


def _with_pause_of_failure(book: Book, server: Server, runs: Sequence[Run], now: datetime) -> Book:
    """The book with what the server did since; a pause after a failure began when that run failed."""
    failed = [run.closed_at for run in runs if run.state in (State.FAILED, State.EXPIRED) and run.closed_at]
    since = max(failed, default=now) if server.paused else now
    seen = adopted(book, server, now)
    pause = seen.pause
    if pause is None or book.pause is not None or pause.source != "failure":
        return seen
    return seen.model_copy(update={"pauses": [*seen.pauses[:-1], pause.model_copy(update={"since": since})]})
