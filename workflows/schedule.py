"""The one writer of a schedule: an entity that takes its commands one after the other and holds the server to them.

The server loses commands that reach a schedule together (they are signals, of which it keeps one), keeps no account of
what a schedule was, and forgets one whose times are used up. So every command goes through here; what there is to know
is in the memo, where it is read with no worker alive.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from duetime.contracts.instants import parse_instant
    from duetime.contracts.schedule_book import SCHEDULE, Backfill, Book, Put, Server
    from duetime.schedules import changes
    from duetime.schedules.attention import SETTLED, next_attention, settled_edits
    from duetime.schedules.ids import by_hand_id
    from workflows import schedule_server as server
    from workflows.raw import raw
    from workflows.schedule_commands import (
        BackfillCommand,
        PauseCommand,
        ResumeCommand,
        SkipCommand,
        TriggerCommand,
        refuse,
    )
    from workflows.schedule_input import read_book

#: How long an entity that nobody puts anything into waits.
_EMPTY = timedelta(minutes=1)
#: Between two looks at a schedule about which nothing is heard.
_LOOK = timedelta(hours=1)
_SOON = timedelta(seconds=15)
#: The longest between two looks at a schedule whose queue has to empty before it is known what was missed.
_LONGEST_WAIT = timedelta(minutes=1)
#: Events of a history that make a fresh one worth while; every command is some.
_EVENTS = 1_000


@workflow.defn(name=SCHEDULE)
class ScheduleWorkflow:
    """State is one `Book`, handed from run to run."""

    @workflow.init
    @raw
    def __init__(self, *arguments: RawValue) -> None:
        self._book, self._fault = read_book(arguments, workflow.info().workflow_id)
        self._published: dict[str, Any] = {}
        self._lock = asyncio.Lock()
        self._check = False
        self._dirty = self._book is not None and self._book.dirty
        self._next_look = workflow.now() + _LOOK * (0.5 + workflow.random().random() / 2)
        self._waits = 0
        #: How the server's schedule stood at the last look, until it is written.
        self._seen: Server | None = None
        #: Nothing is done before, by itself: something failed, or has to wait.
        self._not_before = workflow.now()
        self._filling: asyncio.Task[None] | None = None

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> dict[str, Any]:
        if self._fault is not None:
            raise self._fault
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(lambda: self._book is not None, timeout=_EMPTY)
        while True:
            while self._lives:
                await self._live()
            await workflow.wait_condition(workflow.all_handlers_finished)
            if not self._lives:  # else it was put again just now
                return {"revision": self._book.revision if self._book else 0}

    async def _live(self) -> None:
        self._fill()
        due = self._due_at()
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._is_awake() or self._due_at() != due,
                timeout=max(due - workflow.now(), timedelta(seconds=1)),
            )
        if self._is_long() and not self._is_due():
            await self._start_over()
        if self._lives and self._is_due():
            await self._look_after()

    # -- commands -----------------------------------------------------------------------------------------

    @workflow.update(name="put")
    async def put(self, command: dict[str, Any]) -> dict[str, Any]:
        """Creates or replaces: `{"revision", "created", "changed"}`."""
        put = Put.model_validate(command)
        async with self._turn():
            there = self._book if self._book is not None and not self._book.deleted else None
            if put.expect is not None and put.expect != (there.revision if there else 0):
                raise refuse("StaleRevision", f"the revision is {there.revision if there else 0}", there)
            if there is None:
                await self._write(changes.created(put, workflow.now()))
                return {"revision": 1, "created": True, "changed": True}
            if (put.spec, put.job, put.pipeline) == (there.spec, there.job, there.pipeline):
                if not (await server.look(there)).exists:
                    await self._write(there)
                return {"revision": there.revision, "created": False, "changed": False}
            there = await self._adopt(there)
            await self._write(changes.replaced(there, put, workflow.now()))
            return {"revision": self._here.revision, "created": False, "changed": True}

    @put.validator
    def _can_put(self, command: dict[str, Any]) -> None:
        Put.model_validate(command).model_dump()

    @workflow.update(name="pause")
    async def pause(self, command: dict[str, Any]) -> dict[str, Any]:
        """Nothing starts by the rule until it is resumed; repeated, it changes the reason and the end."""
        wanted = PauseCommand.model_validate(command)
        async with self._turn():
            book = await self._adopt(self._there)
            await self._write(changes.paused(book, wanted.span(workflow.now())))
            return self._answer()

    @workflow.update(name="resume")
    async def resume(self, command: dict[str, Any]) -> dict[str, Any]:
        """The rule starts runs again; what came in the pause is made up when that is asked for."""
        wanted = ResumeCommand.model_validate(command)
        async with self._turn():
            book = await self._adopt(self._there)
            pause, now = book.pause, workflow.now()
            if pause is None:
                return self._answer()
            book = changes.resumed(book, now)
            if wanted.missed == "run":
                backfill = wanted.backfill(pause, book.parsed.overlap, now, str(workflow.uuid4()))
                book = changes.with_backfill(book, backfill)
            await self._write(book)
            self._fill()
            return self._answer()

    @workflow.update(name="skip")
    async def skip(self, command: dict[str, Any]) -> dict[str, Any]:
        """Leaves one time to come out."""
        wanted = SkipCommand.model_validate(command)
        async with self._turn():
            book = await self._adopt(self._there)
            if wanted.at <= workflow.now():
                raise refuse("TooLate", "that time has come already", book)
            if all(wanted.at != skip.at for skip in book.skips):
                await self._write(changes.skipping(book, wanted.skip()))
            return self._answer()

    @workflow.update(name="trigger")
    async def trigger(self, command: dict[str, Any]) -> dict[str, Any]:
        """A run now: `{"job_id", "state"}`; refused when a run is in its way and the policy skips."""
        wanted = TriggerCommand.model_validate(command)
        overlap = wanted.overlap or self._there.parsed.overlap
        if overlap == "allow":
            return await self._start_by_hand()
        async with self._turn():
            book = self._there
            nominal = await server.pick(book)
            told = await server.trigger(book, nominal, overlap)
            counted = book.counted.model_copy(update={"triggered": book.counted.triggered + 1})
            started = told["state"] != "skipped"
            self._keep(
                self._here.model_copy(
                    update={
                        "triggered_at": parse_instant(nominal),
                        "counted": counted if started else book.counted,
                    }
                )
            )
            if not started:
                raise ApplicationError(
                    "a run is open", told["running"], type="Overlapped", non_retryable=True
                )
            return {"job_id": told["job_id"], "state": told["state"]}

    @workflow.update(name="backfill")
    async def backfill(self, command: dict[str, Any]) -> dict[str, Any]:
        """Takes a backfill on; it goes on by itself. One that is under way already is not taken on twice."""
        wanted = BackfillCommand.model_validate(command)
        async with self._turn():
            book = self._there
            for other in book.backfills:
                if other.finished_at is None and wanted.is_same(other):
                    return other.model_dump(mode="json")
            backfill = wanted.backfill(workflow.now(), str(workflow.uuid4()))
            self._keep(changes.with_backfill(book, backfill))
            self._fill()
            return backfill.model_dump(mode="json")

    @workflow.update(name="delete")
    async def delete(self, expect: int | None = None) -> dict[str, Any]:
        """No run starts any more; those that are open go on."""
        async with self._turn():
            book = self._there
            if expect is not None and expect != book.revision:
                raise refuse("StaleRevision", f"the revision is {book.revision}", book)
            await server.remove(book)
            self._book = book.model_copy(update={"deleted": True})
            return self._answer()

    @workflow.signal(name="check")
    def check(self) -> None:
        """The server may have been away: look for missed times."""
        self._check = True

    # -- the book -----------------------------------------------------------------------------------------

    @property
    def _lives(self) -> bool:
        return self._book is not None and not self._book.deleted

    @property
    def _here(self) -> Book:
        assert self._book is not None
        return self._book

    @property
    def _there(self) -> Book:
        """The book for a command; refused when there is none."""
        if self._book is None or self._book.deleted:
            raise refuse("NotThere", "there is no such schedule", None)
        return self._book

    def _answer(self) -> dict[str, Any]:
        return {"revision": self._here.revision}

    def _keep(self, book: Book) -> None:
        self._book = book
        news = {name: value for name, value in book.memo.items() if self._published.get(name) != value}
        if news:
            workflow.upsert_memo(news)
            self._published |= news

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One command at a time, each with eyes of its own."""
        async with self._lock:
            self._seen = None
            yield

    async def _adopt(self, book: Book) -> Book:
        self._seen = await server.look(book)
        return changes.adopted(book, self._seen, workflow.now())

    async def _write(self, book: Book) -> None:
        """Makes the server's schedule what `book` says, and that the book; the old one stays when it cannot be."""
        # Never that of an earlier schedule of this id, of which something may be left.
        by_the_clock = int(workflow.now().timestamp() * 1000)
        number = max(by_the_clock, (self._book.applied if self._book else 0) + 1)
        book = book.model_copy(update={"applied": number})
        # What was seen under the same lock still stands: nobody else writes.
        seen, self._seen = self._seen, None
        try:
            applied, near = await server.apply(book, seen)
        except ActivityError:
            if self._book is not None:
                self._book = self._book.model_copy(update={"applied": number})
                self._dirty = True
            raise
        self._dirty = False
        self._keep(changes.edited(applied, workflow.now()) if near else applied)

    # -- by itself ----------------------------------------------------------------------------------------

    def _due_at(self) -> datetime:
        """When there is something to look after next."""
        due = next_attention(self._here, self._next_look)
        return max(workflow.now() if self._check or self._dirty else due, self._not_before)

    def _is_due(self) -> bool:
        return self._due_at() <= workflow.now()

    def _is_long(self) -> bool:
        info = workflow.info()
        return info.is_continue_as_new_suggested() or info.get_current_history_length() > _EVENTS

    def _is_awake(self) -> bool:
        return self._here.deleted or self._is_due() or self._is_long()

    async def _start_over(self) -> None:
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self._lives:
            look_at = self._not_before if self._check or self._dirty else self._here.look_at
            book = self._here.model_copy(update={"dirty": self._dirty, "look_at": look_at})
            workflow.continue_as_new(book.compact(), memo=dict(workflow.memo()))

    async def _look_after(self) -> None:
        """Whatever is due. What fails is tried again soon: nobody waits for it."""
        now, self._check = workflow.now(), False
        self._next_look = now + _LOOK
        self._keep(self._here.model_copy(update={"look_at": None}))
        try:
            await self._mend(now)
            await self._restore(now)
            await self._catch_up()
        except ActivityError as error:
            workflow.logger.warning("the schedule cannot be looked after now: %s", error.cause)
            self._check, self._not_before = True, workflow.now() + _SOON

    async def _restore(self, now: datetime) -> None:
        """Runs the times that an edit took from the server."""
        for edit in settled_edits(self._here, now):
            told = await server.judge(self._here, edit)
            if told["wait"]:
                self._not_before = workflow.now() + SETTLED
                return
            await self._make_up(told["times"])
            left = [other for other in self._here.edits if other != edit]
            self._keep(self._here.model_copy(update={"edits": left}))

    async def _mend(self, now: datetime) -> None:
        """Adopts what the server did, and writes its schedule again when time has made that necessary."""
        async with self._turn():
            if self._here.deleted:
                return
            seen = await server.look(self._here)
            book = changes.adopted(self._here, seen, now)
            write = self._dirty or (book.renew_at is not None and book.renew_at <= now)
            if book.pause is not None and book.pause.until is not None and book.pause.until <= now:
                book, write = changes.resumed(book, now), True
            if seen.exists and seen.zones_version != book.zones_version:
                write = True
            if write:
                await self._write(book)
            else:
                paused = seen.paused if seen.exists else book.applied_paused
                self._keep(book.model_copy(update={"applied_paused": paused}))

    async def _catch_up(self) -> None:
        book = self._here
        if book.deleted or book.pause is not None:
            return
        told = await server.judge(book)
        await self._make_up(told["times"])
        looked_at, until = parse_instant(told["looked_at"]), parse_instant(told["judged_until"])
        if told["more"] or told["wait"]:
            self._waits = self._waits + 1 if told["wait"] else 0
            pause = min(timedelta(seconds=2 ** min(self._waits, 6)), _LONGEST_WAIT)
            news = {"judged_until": until, "look_at": workflow.now() + pause}
            self._keep(self._here.model_copy(update=news))
            return
        self._waits = 0
        settles = timedelta(seconds=told["settles"])
        self._keep(changes.judged(self._here, until, told["missed"], looked_at, settles))

    async def _make_up(self, times: list[str]) -> None:
        for portion in server.portions(times):
            async with self._turn():
                if self._here.deleted:
                    return
                book = await self._adopt(self._here)
                if book.runs_left is not None:
                    portion = portion[: book.runs_left]
                if not portion:
                    return
                await server.make_up(book, portion)
                made_up = len(portion)
                news: dict[str, Any] = {
                    "counted": book.counted.model_copy(update={"made_up": book.counted.made_up + made_up})
                }
                if book.runs_left is None:
                    self._keep(book.model_copy(update=news))
                    continue
                news |= {"runs_used": book.runs_used + made_up, "runs_left": book.runs_left - made_up}
                await self._write(book.model_copy(update=news))

    # -- runs of our own ----------------------------------------------------------------------------------

    async def _start_by_hand(self) -> dict[str, Any]:
        book = self._there
        job_id = by_hand_id(book.id, workflow.uuid4().hex)
        await server.start(book, job_id, workflow.now().replace(microsecond=0).isoformat())
        here = self._here
        counted = here.counted.model_copy(update={"triggered": here.counted.triggered + 1})
        self._keep(here.model_copy(update={"counted": counted}))
        return {"job_id": job_id, "state": "started"}

    def _fill(self) -> None:
        """Goes on with the backfills, one after the other, beside everything else."""
        if (self._filling is None or self._filling.done()) and self._next_backfill() is not None:
            self._filling = asyncio.create_task(self._fill_all())

    def _next_backfill(self) -> Backfill | None:
        return next((one for one in self._here.backfills if one.finished_at is None), None)

    async def _fill_all(self) -> None:
        while not self._here.deleted and (backfill := self._next_backfill()) is not None:
            told = await server.backfill(self._here, backfill)
            self._keep(changes.filled(self._here, backfill, told, workflow.now()))
