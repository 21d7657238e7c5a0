"""When a schedule next needs somebody to look after it. Pure."""

from datetime import datetime, timedelta

from duetime.contracts.schedule_book import Book

#: After an edit, until it is plain what the server started.
SETTLED = timedelta(seconds=2)


def settling(book: Book) -> timedelta:
    """After an edit: how long what the server started before may take to show."""
    spec = book.parsed
    return SETTLED + (spec.jitter if spec.jitter_mode == "random" else timedelta(0))


def settled_edits(book: Book, now: datetime) -> list[datetime]:
    """Edits whose consequences show by now."""
    return [at for at in book.edits if at + settling(book) <= now]


def next_attention(book: Book, next_look: datetime) -> datetime:
    """The end of a pause, a horizon to renew, an edit to look after, or simply the next look."""
    until = book.pause.until if book.pause else None
    edits = [at + settling(book) for at in book.edits]
    return min(at for at in (until, book.renew_at, next_look, book.look_at, *edits) if at)
