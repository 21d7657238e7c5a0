"""The one writer of a schedule: an entity that takes its commands one after the other and holds the server to them.

The server loses commands that reach a schedule together (they are signals, of which it keeps one), keeps no account of
what a schedule was, and forgets one whose times are used up. So every command goes through here; what there is to know
is in the memo, where it is read with no worker alive.
"""

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from duetime.contracts.instants import parse_instant
    from duetime.contracts.schedule_book import SCHEDULE, Backfill, Put
    from duetime.schedules import changes
    from duetime.schedules.ids import by_hand_id
    from workflows import schedule_server as server
    from workflows.commands import command
    from workflows.forgiving import forgiving
    from workflows.memo import whole_memo
    from workflows.raw import raw
    from workflows.schedule_commands import (
        PUT_BYTES,
        BackfillCommand,
        PauseCommand,
        ResumeCommand,
        SkipCommand,
        TriggerCommand,
        check_put,
        refuse,
    )
    from workflows.schedule_input import read_book
    from workflows.schedule_keeping import BookKeeper
    from workflows.schedule_upkeep import Upkeep

#: How long an entity that nobody puts anything into waits.
_EMPTY = timedelta(minutes=1)
#: Events of a history that make a fresh one worth while; every command is some.
_EVENTS = 1_000


@workflow.defn(name=SCHEDULE)
class ScheduleWorkflow:
    """State is one `Book`, handed from run to run; commands here, the rest in `BookKeeper` and `Upkeep`."""

    @workflow.init
    @raw
    def __init__(self, *arguments: RawValue) -> None:
        book, self._fault = read_book(arguments, workflow.info())
        self._keeper = BookKeeper(book)
        self._upkeep = Upkeep(self._keeper)
        self._filling: asyncio.Task[None] | None = None

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> dict[str, Any]:
        if self._fault is not None:
            raise self._fault
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(lambda: self._keeper.book is not None, timeout=_EMPTY)
        while True:
            while self._keeper.lives:
                await self._live()
            await workflow.wait_condition(workflow.all_handlers_finished)
            if not self._keeper.lives:  # else it was put again just now
                return {"revision": self._keeper.book.revision if self._keeper.book else 0}

    async def _live(self) -> None:
        self._fill()
        due = self._upkeep.due_at()
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._is_awake() or self._upkeep.due_at() != due,
                timeout=max(due - workflow.now(), timedelta(seconds=1)),
            )
        if self._is_long() and not self._upkeep.is_due():
            await self._start_over()
        if self._keeper.lives and self._upkeep.is_due():
            await self._upkeep.look_after()

    # -- commands -----------------------------------------------------------------------------------------

    @command("put", Put, check=check_put, most=PUT_BYTES)
    async def put(self, put: Put) -> dict[str, Any]:
        """Creates or replaces: `{"revision", "created", "changed"}`."""
        async with self._keeper.turn():
            there = self._keeper.living
            if put.expect is not None and put.expect != (there.revision if there else 0):
                raise refuse("StaleRevision", f"the revision is {there.revision if there else 0}", there)
            if there is None:
                await self._keeper.write(changes.created(put, workflow.now()))
                return {"revision": 1, "created": True, "changed": True}
            if (put.spec, put.job, put.pipeline) == (there.spec, there.job, there.pipeline):
                if not (await server.look(there)).exists:
                    await self._keeper.write(there)
                return {"revision": there.revision, "created": False, "changed": False}
            there = await self._keeper.adopt(there)
            await self._keeper.write(changes.replaced(there, put, workflow.now()))
            return {"revision": self._keeper.here.revision, "created": False, "changed": True}

    @command("pause", PauseCommand)
    async def pause(self, wanted: PauseCommand) -> dict[str, Any]:
        """Nothing starts by the rule until it is resumed; repeated, it changes the reason and the end."""
        async with self._keeper.turn():
            book = await self._keeper.adopt(self._keeper.there)
            await self._keeper.write(changes.paused(book, wanted.span(workflow.now())))
            return self._answer()

    @command("resume", ResumeCommand)
    async def resume(self, wanted: ResumeCommand) -> dict[str, Any]:
        """The rule starts runs again; what came in the pause is made up when that is asked for."""
        async with self._keeper.turn():
            book = await self._keeper.adopt(self._keeper.there)
            pause, now = book.pause, workflow.now()
            if pause is None:
                return self._answer()
            book = changes.resumed(book, now)
            if wanted.missed == "run":
                backfill = wanted.backfill(pause, book.parsed.overlap, now, str(workflow.uuid4()))
                book = changes.with_backfill(book, backfill)
            await self._keeper.write(book)
            self._fill()
            return self._answer()

    @command("skip", SkipCommand)
    async def skip(self, wanted: SkipCommand) -> dict[str, Any]:
        """Leaves one time to come out."""
        async with self._keeper.turn():
            book = await self._keeper.adopt(self._keeper.there)
            if wanted.at <= workflow.now():
                raise refuse("TooLate", "that time has come already", book)
            if all(wanted.at != skip.at for skip in book.skips):
                await self._keeper.write(changes.skipping(book, wanted.skip()))
            return self._answer()

    @command("trigger", TriggerCommand)
    async def trigger(self, wanted: TriggerCommand) -> dict[str, Any]:
        """A run now: `{"job_id", "state"}`; refused when a run is in its way and the policy skips."""
        overlap = wanted.overlap or self._keeper.there.parsed.overlap
        if overlap == "allow":
            return await self._start_by_hand()
        async with self._keeper.turn():
            book = self._keeper.there
            nominal = await server.pick(book)
            told = await server.trigger(book, nominal, overlap)
            counted = book.counted.model_copy(update={"triggered": book.counted.triggered + 1})
            started = told["state"] != "skipped"
            self._keeper.keep(
                self._keeper.here.model_copy(
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

    @command("backfill", BackfillCommand)
    async def backfill(self, wanted: BackfillCommand) -> dict[str, Any]:
        """Takes a backfill on; it goes on by itself. One that is under way already is not taken on twice."""
        async with self._keeper.turn():
            book = self._keeper.there
            for other in book.backfills:
                if other.finished_at is None and wanted.is_same(other):
                    return other.model_dump(mode="json")
            backfill = wanted.backfill(workflow.now(), str(workflow.uuid4()))
            self._keeper.keep(changes.with_backfill(book, backfill))
            self._fill()
            return backfill.model_dump(mode="json")

    @command("delete", int | None)
    async def delete(self, expect: int | None) -> dict[str, Any]:
        """No run starts any more; those that are open go on."""
        async with self._keeper.turn():
            book = self._keeper.there
            if expect is not None and expect != book.revision:
                raise refuse("StaleRevision", f"the revision is {book.revision}", book)
            await server.remove(book)
            self._keeper.bury(book)
            return self._answer()

    @workflow.signal(name="check")
    @forgiving
    def check(self) -> None:
        """The server may have been away: look for missed times."""
        self._upkeep.check()

    def _answer(self) -> dict[str, Any]:
        return {"revision": self._keeper.here.revision}

    # -- a history of its own size -------------------------------------------------------------------------

    def _is_long(self) -> bool:
        info = workflow.info()
        return info.is_continue_as_new_suggested() or info.get_current_history_length() > _EVENTS

    def _is_awake(self) -> bool:
        return self._keeper.here.deleted or self._upkeep.is_due() or self._is_long()

    async def _start_over(self) -> None:
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self._keeper.lives:
            look_at = self._upkeep.look_at
            book = self._keeper.here.model_copy(update={"dirty": self._keeper.dirty, "look_at": look_at})
            workflow.continue_as_new(book.compact(), memo=whole_memo())

    # -- runs of our own ----------------------------------------------------------------------------------

    async def _start_by_hand(self) -> dict[str, Any]:
        book = self._keeper.there
        job_id = by_hand_id(book.id, workflow.uuid4().hex)
        await server.start(book, job_id, workflow.now().replace(microsecond=0).isoformat())
        here = self._keeper.here
        counted = here.counted.model_copy(update={"triggered": here.counted.triggered + 1})
        self._keeper.keep(here.model_copy(update={"counted": counted}))
        return {"job_id": job_id, "state": "started"}

    def _fill(self) -> None:
        """Goes on with the backfills, one after the other, beside everything else."""
        if (self._filling is None or self._filling.done()) and self._next_backfill() is not None:
            self._filling = asyncio.create_task(self._fill_all())

    def _next_backfill(self) -> Backfill | None:
        return next((one for one in self._keeper.here.backfills if one.finished_at is None), None)

    async def _fill_all(self) -> None:
        while not self._keeper.here.deleted and (backfill := self._next_backfill()) is not None:
            told = await server.backfill(self._keeper.here, backfill)
            self._keeper.keep(changes.filled(self._keeper.here, backfill, told, workflow.now()))
