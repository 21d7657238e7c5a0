"""The times of a backfill."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from duetime.contracts.schedule_book import Backfill, Book
from duetime.cron.fires import fires
from duetime.cron.reading import read_fields

_TICK = timedelta(microseconds=1)


def times_of(book: Book, backfill: Backfill) -> Iterator[datetime]:
    """Times of the rule as it is now, from `begin` or after the cursor, to `end`; pauses and skips do not count: who
    asks for a backfill asks for those too."""
    after = backfill.cursor or backfill.begin - _TICK
    rule = read_fields(book.parsed, book.id)
    return (fire.utc for fire in fires(rule, after, backfill.end))
