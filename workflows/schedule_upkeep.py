"""What a schedule's entity does by itself: holds the server to the book, and runs what was missed by its policy."""

from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from duetime.contracts.instants import parse_instant
    from duetime.schedules import changes
    from duetime.schedules.attention import SETTLED, next_attention, settled_edits
    from workflows import schedule_server as server
    from workflows.schedule_keeping import BookKeeper

#: Between two looks at a schedule about which nothing is heard.
_LOOK = timedelta(hours=1)
_SOON = timedelta(seconds=15)
#: The longest between two looks at a schedule whose queue has to empty before it is known what was missed.
_LONGEST_WAIT = timedelta(minutes=1)


class Upkeep:
    """Knows when there is something to look after, and looks after it."""

    def __init__(self, keeper: BookKeeper) -> None:
        self._keeper = keeper
        self._check = False
        self._next_look = workflow.now() + _LOOK * (0.5 + workflow.random().random() / 2)
        self._waits = 0
        #: Nothing is done before, by itself: something failed, or has to wait.
        self._not_before = workflow.now()

    def check(self) -> None:
        """Looks at everything as soon as may be."""
        self._check = True

    def due_at(self) -> datetime:
        """When there is something to look after next."""
        due = next_attention(self._keeper.here, self._next_look)
        return max(workflow.now() if self._is_pressing else due, self._not_before)

    def is_due(self) -> bool:
        return self.due_at() <= workflow.now()

    @property
    def look_at(self) -> datetime | None:
        """When the next run of this entity has to look first."""
        return self._not_before if self._is_pressing else self._keeper.here.look_at

    @property
    def _is_pressing(self) -> bool:
        return self._check or self._keeper.dirty

    async def look_after(self) -> None:
        """Whatever is due. What fails is tried again soon: nobody waits for it."""
        now, self._check = workflow.now(), False
        self._next_look = now + _LOOK
        self._keeper.keep(self._keeper.here.model_copy(update={"look_at": None}))
        try:
            await self._mend(now)
            await self._restore(now)
            await self._catch_up()
        except ActivityError as error:
            workflow.logger.warning("the schedule cannot be looked after now: %s", error.cause)
            self._check, self._not_before = True, workflow.now() + _SOON

    async def _restore(self, now: datetime) -> None:
        """Runs the times that an edit took from the server."""
        for edit in settled_edits(self._keeper.here, now):
            told = await server.judge(self._keeper.here, edit)
            if told["wait"]:
                self._not_before = workflow.now() + SETTLED
                return
            await self._make_up(told["times"], skipped=False)
            left = [other for other in self._keeper.here.edits if other != edit]
            self._keeper.keep(self._keeper.here.model_copy(update={"edits": left}))

    async def _mend(self, now: datetime) -> None:
        """Adopts what the server did, and writes its schedule again when time has made that necessary."""
        async with self._keeper.turn():
            if self._keeper.here.deleted:
                return
            seen = await server.look(self._keeper.here)
            book = changes.adopted(self._keeper.here, seen, now)
            write = self._keeper.dirty or (book.renew_at is not None and book.renew_at <= now)
            if book.pause is not None and book.pause.until is not None and book.pause.until <= now:
                book, write = changes.resumed(book, now), True
            if seen.exists and seen.zones_version != book.zones_version:
                write = True
            if write:
                await self._keeper.write(book)
            else:
                paused = seen.paused if seen.exists else book.applied_paused
                self._keeper.keep(book.model_copy(update={"applied_paused": paused}))

    async def _catch_up(self) -> None:
        book = self._keeper.here
        if book.deleted or book.pause is not None:
            return
        told = await server.judge(book)
        await self._make_up(told["times"], skipped=told.get("skipped", False))
        looked_at, until = parse_instant(told["looked_at"]), parse_instant(told["judged_until"])
        if told["more"] or told["wait"]:
            self._waits = self._waits + 1 if told["wait"] else 0
            pause = min(timedelta(seconds=2 ** min(self._waits, 6)), _LONGEST_WAIT)
            news = {"judged_until": until, "look_at": workflow.now() + pause}
            self._keeper.keep(self._keeper.here.model_copy(update=news))
            return
        self._waits = 0
        if told.get("settled"):
            self._keeper.keep(changes.settled(self._keeper.here, until, told["missed"]))
            return
        settles = timedelta(seconds=told["settles"])
        self._keeper.keep(changes.judged(self._keeper.here, until, told["missed"], looked_at, settles))

    async def _make_up(self, times: list[str], *, skipped: bool) -> None:
        """Runs these after all; `skipped` says that the server counts them as such."""
        for portion in server.portions(times):
            async with self._keeper.turn():
                if self._keeper.here.deleted:
                    return
                book = await self._keeper.adopt(self._keeper.here)
                if book.runs_left is not None:
                    portion = portion[: book.runs_left]
                if not portion:
                    return
                await server.make_up(book, portion)
                made_up = len(portion)
                counted = {"made_up": book.counted.made_up + made_up}
                if skipped:
                    counted["made_up_of_skipped"] = book.counted.made_up_of_skipped + made_up
                news: dict[str, Any] = {"counted": book.counted.model_copy(update=counted)}
                if book.runs_left is None:
                    self._keeper.keep(book.model_copy(update=news))
                    continue
                news |= {"runs_used": book.runs_used + made_up, "runs_left": book.runs_left - made_up}
                await self._keeper.write(book.model_copy(update=news))
