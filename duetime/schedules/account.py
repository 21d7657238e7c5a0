"""What became of each time of a schedule: one row for each, from the book and the runs that the index knows. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from urllib.parse import quote

from duetime.contracts.schedule import Overlap
from duetime.contracts.schedule_book import Book, Server
from duetime.contracts.schedule_view import Occurrence, OccurrenceState
from duetime.cron.fires import Fire
from duetime.schedules.grace import LONGEST
from duetime.schedules.ids import run_id
from duetime.schedules.missed import SLACK, Run, blocking
from duetime.schedules.times import pause_at, rule_times

_TICK = timedelta(microseconds=1)
_WAITING = {OccurrenceState.MISSED, OccurrenceState.SKIPPED_OVERLAP}


@dataclass(frozen=True)
class Seen:
    """What is known at `now`. Runs that ended before `remembered_since` may be forgotten."""

    book: Book
    server: Server
    runs: Sequence[Run]
    now: datetime
    remembered_since: datetime


def account(seen: Seen, since: datetime, until: datetime, most: int) -> list[Occurrence]:
    """The rows of the times from `since` to `until`, both included, in order; the first `most`."""
    rows = list(islice(_rows(seen, since - _TICK, until), most))
    _mark_queued(rows, min(seen.server.queued, len(rows)), seen.book.parsed.overlap)
    return rows


def _rows(seen: Seen, after: datetime, until: datetime) -> Iterator[Occurrence]:
    book, spec = seen.book, seen.book.parsed
    settled = seen.now - min(timedelta(seconds=book.server_window), LONGEST) - SLACK
    if spec.jitter_mode == "random":
        settled -= spec.jitter
    by_id: dict[str, Run] = {}
    for one in sorted(seen.runs, key=lambda run: run.started_at):
        by_id[one.job_id] = one
    skips = {skip.at: skip for skip in book.skips}
    to_come = 0
    for fire in rule_times(book, after, until, with_excluded=True):
        at = fire.utc
        run = by_id.get(run_id(book.id, at))
        if run is not None:
            yield _fired(fire, run)
        elif "excluded" in fire.tags:
            yield _row(fire, OccurrenceState.EXCLUDED, reason="left out by the rule")
        elif (skip := skips.get(at)) is not None:
            yield _row(fire, OccurrenceState.EXCLUDED, reason=skip.reason or f"left out by {skip.by}")
        elif (pause := pause_at(book, at)) is not None and (pause.until is None or at < pause.until):
            yield _row(fire, OccurrenceState.PAUSED, reason=pause.reason)
        elif at > seen.now:
            if book.runs_left is not None and to_come >= book.runs_left:
                return
            to_come += 1
            yield _row(fire, OccurrenceState.UPCOMING)
        elif (other := blocking(spec, at, seen.runs, at)) is not None:
            yield _row(fire, OccurrenceState.SKIPPED_OVERLAP, blocked_by=other.job_id)
        elif at > settled:
            yield _row(fire, OccurrenceState.UPCOMING)
        elif at < seen.remembered_since:
            yield _row(fire, OccurrenceState.UNKNOWN)
        else:
            yield _row(fire, OccurrenceState.MISSED)


def _mark_queued(rows: list[Occurrence], queued: int, overlap: Overlap) -> None:
    """The server tells how many times wait, not which: the last that have not run, or where only one may wait, the
    first since the last that ran."""
    fired = max((index for index, row in enumerate(rows) if row.state is OccurrenceState.FIRED), default=-1)
    first = fired + 1 if overlap == "queue_one" else 0
    waiting = [row for row in rows[first:] if row.state in _WAITING]
    for row in waiting[:queued] if overlap == "queue_one" else waiting[max(0, len(waiting) - queued) :]:
        row.state = OccurrenceState.QUEUED


def _fired(fire: Fire, run: Run) -> Occurrence:
    return _row(
        fire,
        OccurrenceState.FIRED,
        job_id=None if run.is_pipeline else run.job_id,
        pipeline_id=run.job_id if run.is_pipeline else None,
        job_state=run.state,
        link=link_of(run.job_id, is_pipeline=run.is_pipeline),
        started_at=run.started_at,
        late_by=max(timedelta(0), run.started_at - fire.utc),
    )


def link_of(run_id: str, *, is_pipeline: bool) -> str:
    """Where a run is read over HTTP."""
    return f"/v1/{'pipelines' if is_pipeline else 'jobs'}/{quote(run_id, safe=':~')}"


def _row(fire: Fire, state: OccurrenceState, **told: object) -> Occurrence:
    return Occurrence.model_validate(
        {
            "nominal_time": fire.utc,
            "local": fire.local.isoformat(),
            "state": state,
            "tags": list(fire.tags),
            **told,
        }
    )
