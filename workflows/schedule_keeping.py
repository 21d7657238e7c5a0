"""The book of a schedule's entity: one hand at a time changes it, and the server's schedule is made to say the same."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from duetime.contracts.schedule_book import Book, Server
    from duetime.schedules import changes
    from workflows import schedule_server as server
    from workflows.schedule_commands import refuse


class BookKeeper:
    """Holds the book, and has what is new in it in the memo, where it is read with no worker alive."""

    def __init__(self, book: Book | None) -> None:
        #: None until something was put.
        self.book = book
        #: The server's schedule may not be what the book says.
        self.dirty = book is not None and book.dirty
        self._published: dict[str, Any] = {}
        self._lock = asyncio.Lock()
        #: How the server's schedule stood at the last look, until it is written.
        self._seen: Server | None = None

    @property
    def living(self) -> Book | None:
        """The book of a schedule that is there."""
        return None if self.book is None or self.book.deleted else self.book

    @property
    def lives(self) -> bool:
        return self.living is not None

    @property
    def here(self) -> Book:
        assert self.book is not None
        return self.book

    @property
    def there(self) -> Book:
        """The book for a command; refused when there is none."""
        if (living := self.living) is None:
            raise refuse("NotThere", "there is no such schedule", None)
        return living

    def keep(self, book: Book) -> None:
        self.book = book
        news = {name: value for name, value in book.memo.items() if self._published.get(name) != value}
        if news:
            workflow.upsert_memo(news)
            self._published |= news

    def bury(self, book: Book) -> None:
        """Its schedule is there no more; the memo goes on telling what it was."""
        self.book = book.model_copy(update={"deleted": True})

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One command at a time, each with eyes of its own."""
        async with self._lock:
            self._seen = None
            yield

    async def adopt(self, book: Book) -> Book:
        """`book` with what the server did by itself."""
        self._seen = await server.look(book)
        return changes.adopted(book, self._seen, workflow.now())

    async def write(self, book: Book) -> None:
        """Makes the server's schedule what `book` says, and that the book; the old one stays when it cannot be."""
        # Never that of an earlier schedule of this id, of which something may be left.
        by_the_clock = int(workflow.now().timestamp() * 1000)
        number = max(by_the_clock, (self.book.applied if self.book else 0) + 1)
        book = book.model_copy(update={"applied": number})
        # What was seen under the same lock still stands: nobody else writes.
        seen, self._seen = self._seen, None
        try:
            applied, near = await server.apply(book, seen)
        except ActivityError:
            if self.book is not None:
                self.book = self.book.model_copy(update={"applied": number})
                self.dirty = True
            raise
        self.dirty = False
        self.keep(changes.edited(applied, workflow.now()) if near else applied)
