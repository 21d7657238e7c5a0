"""What commands, and what the server did by itself, make of a book. Pure: a book and facts in, a book out."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_book import (
    KEPT_BACKFILLS,
    KEPT_PAUSES,
    KEPT_REVISIONS,
    KEPT_RULE_BYTES,
    KEPT_SKIPS,
    Backfill,
    Book,
    PauseSpan,
    Put,
    Revision,
    Server,
    SkippedTime,
)

_BY_SPEC = "the schedule says `paused`"
_BY_TEMPORAL = "paused through Temporal"
#: How the server's notes begin when it paused a schedule after a failure.
_AFTER_FAILURE = "paused due to"


def created(put: Put, now: datetime) -> Book:
    """The book of a new schedule."""
    spec = ScheduleSpec.model_validate(put.spec)
    book = Book(
        id=put.id,
        spec=put.spec,
        job=put.job,
        pipeline=put.pipeline,
        in_words=put.in_words,
        created_at=now,
        updated_at=now,
        updated_by=put.by,
        revisions=[Revision(number=1, since=now, by=put.by, rule=spec.rule_fields())],
        judged_until=now,
        runs_left=spec.max_runs,
    )
    return _paused_by_spec(book, put.by, now) if spec.paused else book


def replaced(book: Book, put: Put, now: datetime) -> Book:
    """The book with another specification. What operators paused or left out stays so."""
    old, new = book.parsed, ScheduleSpec.model_validate(put.spec)
    number = book.revision + 1
    revisions = book.revisions
    if new.rule_fields() != old.rule_fields():
        revisions = _kept([*revisions, Revision(number=number, since=now, by=put.by, rule=new.rule_fields())])
    changed = book.model_copy(
        update={
            "spec": put.spec,
            "job": put.job,
            "pipeline": put.pipeline,
            "in_words": put.in_words,
            "revision": number,
            "updated_at": now,
            "updated_by": put.by,
            "revisions": revisions,
            "runs_left": max(0, new.max_runs - book.runs_used) if new.max_runs is not None else None,
        }
    )
    if new.paused and not old.paused and book.pause is None:
        return _paused_by_spec(changed, put.by, now)
    if old.paused and not new.paused and book.pause is not None and book.pause.source == "spec":
        return resumed(changed, now)
    return changed


def paused(book: Book, pause: PauseSpan) -> Book:
    """The book with a pause from `pause.since`; of one that lasts, only the reason and the end change."""
    if (lasting := book.pause) is not None:
        told = {"reason": pause.reason, "by": pause.by, "until": pause.until, "source": pause.source}
        return _with_pauses(book, [*book.pauses[:-1], lasting.model_copy(update=told)])
    return _with_pauses(book, [*book.pauses, pause])


def resumed(book: Book, now: datetime) -> Book:
    """The book with its pause ended."""
    if (lasting := book.pause) is None:
        return book
    ended = lasting.model_copy(update={"end": max(now, lasting.since)})
    return _with_pauses(book, [*book.pauses[:-1], ended])


def skipping(book: Book, skip: SkippedTime) -> Book:
    """The book with one time left out."""
    others = [other for other in book.skips if other.at != skip.at]
    return book.model_copy(update={"skips": sorted([*others, skip], key=lambda one: one.at)[-KEPT_SKIPS:]})


def with_backfill(book: Book, backfill: Backfill) -> Book:
    """The book with a backfill added, or in place of itself as it was."""
    others = [other for other in book.backfills if other.id != backfill.id]
    ended = [other for other in others if other.finished_at is not None][-(KEPT_BACKFILLS - 1) :]
    under_way = [other for other in others if other.finished_at is None]
    kept = sorted([*ended, *under_way, backfill], key=lambda one: one.requested_at)
    return book.model_copy(update={"backfills": kept})


def filled(book: Book, backfill: Backfill, told: Mapping[str, Any], now: datetime) -> Book:
    """The book after the next runs of a backfill: `{"cursor", "started", "left", "done"}`."""
    news = {
        "cursor": told["cursor"],
        "started": backfill.started + told["started"],
        "left": backfill.left + told["left"],
        "finished_at": now.isoformat() if told["done"] else None,
    }
    book = with_backfill(book, Backfill.model_validate(backfill.model_dump(mode="json") | news))
    counted = book.counted.model_copy(update={"backfilled": book.counted.backfilled + told["started"]})
    return book.model_copy(update={"counted": counted})


def adopted(book: Book, server: Server, now: datetime) -> Book:
    """The book after what the server, or somebody at it, did since it was written: runs used up, pauses."""
    if not server.exists or not book.applied:
        return book
    if book.runs_left is not None and server.remaining is not None:
        used = max(0, book.runs_left - server.remaining)
        book = book.model_copy(
            update={"runs_used": book.runs_used + used, "runs_left": book.runs_left - used}
        )
    if server.paused and book.pause is None:
        return paused(book, pause_of_server(server, now))
    if not server.paused and book.applied_paused:
        return resumed(book, now)
    return book


def pause_of_server(server: Server, since: datetime) -> PauseSpan:
    """The pause that the server tells of and the book does not know."""
    if server.notes.startswith(_AFTER_FAILURE):
        return PauseSpan(since=since, reason=server.notes, by="Temporal", source="failure")
    return PauseSpan(since=since, reason=server.notes or _BY_TEMPORAL, by="Temporal", source="temporal")


def edited(book: Book, at: datetime, near: timedelta = timedelta(seconds=10)) -> Book:
    """The book with the instant of a write that may have taken times from the server; one look serves those close
    together."""
    earlier = [other for other in book.edits if at - other > near]
    return book.model_copy(update={"edits": [*earlier, at]})


def judged(book: Book, until: datetime, missed: int, looked_at: datetime, settles: timedelta) -> Book:
    """The book after a look for missed times: all up to `until` are decided, and the server counts `missed`.

    A count that has grown covers times that are too young to be judged yet: it is settled once they are.
    """
    news: dict[str, object] = {"judged_until": until, "look_at": None}
    if missed != book.missed_seen:
        noticed, noticed_at = missed, looked_at
        if book.noticed_at is not None:
            noticed, noticed_at = book.missed_noticed, book.noticed_at
        if until >= noticed_at:
            news["missed_seen"] = noticed
            is_all, noticed, noticed_at = missed == noticed, missed, looked_at
        else:
            is_all = False
        news |= {"missed_noticed": noticed, "noticed_at": None if is_all else noticed_at}
        if not is_all:
            news["look_at"] = max(looked_at, noticed_at + settles + timedelta(seconds=1))
    return book.model_copy(update=news)


def settled(book: Book, until: datetime, missed: int) -> Book:
    """The book after a look that leaves no question open, though the server's count may go on growing: under `skip` it
    does so with every run that is in the way of another time."""
    news = {
        "judged_until": until,
        "look_at": None,
        "missed_seen": missed,
        "missed_noticed": missed,
        "noticed_at": None,
    }
    return book.model_copy(update=news)


def _paused_by_spec(book: Book, by: str, now: datetime) -> Book:
    return paused(book, PauseSpan(since=now, reason=_BY_SPEC, by=by, source="spec"))


def _with_pauses(book: Book, pauses: Sequence[PauseSpan]) -> Book:
    return book.model_copy(update={"pauses": list(pauses)[-KEPT_PAUSES:]})


def _kept(revisions: Sequence[Revision]) -> list[Revision]:
    """The newest that there is room for; times before the oldest of them are unknown."""
    kept: list[Revision] = []
    size = 0
    for revision in reversed(revisions[-KEPT_REVISIONS:]):
        size += len(json.dumps(revision.rule))
        if kept and size > KEPT_RULE_BYTES:
            break
        kept.insert(0, revision)
    return kept
