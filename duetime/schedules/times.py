"""The times that a schedule's rules named: each revision for as long as it was in force."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from duetime.contracts.rule import RuleFields
from duetime.contracts.schedule_book import Book, PauseSpan
from duetime.cron.fires import Fire, fires
from duetime.cron.reading import read_fields

_TICK = timedelta(microseconds=1)
_END_OF_TIME = datetime(9998, 1, 1, tzinfo=UTC)


def rule_times(
    book: Book, after: datetime, until: datetime, *, with_excluded: bool = False
) -> Iterator[Fire]:
    """Times later than `after` and not later than `until`, ascending; what is paused or left out by hand included."""
    for index, revision in enumerate(book.revisions):
        following = book.revisions[index + 1].since if index + 1 < len(book.revisions) else None
        first = max(after, revision.since - _TICK)
        last = until if following is None else min(until, following - _TICK)
        if first < last:
            rule = read_fields(RuleFields.model_validate(revision.rule), book.id)
            yield from fires(rule, first, last, with_excluded=with_excluded)


def expected(book: Book, after: datetime, until: datetime) -> list[datetime]:
    """Times that should have run, but for other runs in their way."""
    left_out = {skip.at for skip in book.skips}
    return [
        fire.utc
        for fire in rule_times(book, after, until)
        if fire.utc not in left_out and pause_at(book, fire.utc) is None
    ]


def pause_at(book: Book, at: datetime) -> PauseSpan | None:
    """The pause that covers an instant."""
    for pause in reversed(book.pauses):
        if pause.since <= at and (pause.end is None or at < pause.end):
            return pause
    return None


def upcoming(book: Book, now: datetime) -> Iterator[Fire]:
    """Times to come, but for those that are left out, that a pause covers, or that `max_runs` leaves no room for."""
    pause, left_out = book.pause, {skip.at for skip in book.skips}
    if pause is not None and pause.until is None:
        return
    after = max(now, pause.until - _TICK) if pause is not None and pause.until is not None else now
    times = rule_times(book, after, _END_OF_TIME)
    yield from islice((fire for fire in times if fire.utc not in left_out), book.runs_left)
