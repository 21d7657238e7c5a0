"""The workflow of one concurrency limit: it lives while jobs have its places or wait for them, and decides who is next.

`workflows.places` decides; here it is carried out. A local activity tells jobs of their places, one event of history
for as many as are told together.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NoReturn

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy

with workflow.unsafe.imports_passed_through():
    from activities.limit_places import GRANT_PLACES, LOOK_AT_HOLDERS
    from duetime.contracts.concurrency import (
        ASK,
        CHANGE,
        LEAVE,
        LIMIT,
        LIMIT_MEMO,
        LINE,
        Ask,
        Changed,
        Left,
        Place,
    )
    from workflows.forgiving import forgiving
    from workflows.memo import memo_value, whole_memo
    from workflows.one_argument import one_argument
    from workflows.places import Places
    from workflows.raw import raw

#: How long a limit that nobody needs lives on, for the next one who does.
IDLE = timedelta(minutes=1)
#: Jobs told, and looked at, together.
_TOLD, _LOOKED_AT = 100, 200
#: Calls that take milliseconds, and are made again until they succeed.
CALL = timedelta(seconds=10)
AGAIN = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=5))


@workflow.defn(name=LIMIT)
class ConcurrencyLimit:
    """Started by the first who asks it (`activities.limit_places`); its one argument is what an earlier run left."""

    @workflow.init
    @raw
    def __init__(self, *arguments: RawValue) -> None:
        self._places = _read(arguments)
        self._told_limit: int | None = memo_value(LIMIT_MEMO)
        self._looking: workflow.ActivityHandle[list[str]] | None = None
        self._looked_at: list[Place] = []
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at: datetime | None = None
        self._empty_since: datetime | None = None
        self._has_granted = False

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> None:
        while True:
            await self._heed_look()
            self._places.expire(workflow.now())
            self._tell_limit()
            if workflow.info().is_continue_as_new_suggested() and (
                self._has_granted or not self._places.has_news
            ):
                self._start_over()  # Every history gives somebody a place, however many ask meanwhile.
            if self._places.has_news:
                await self._grant()
                continue
            if self._is_done():
                return
            self._look()
            await self._until_something()

    def _start_over(self) -> NoReturn:
        workflow.continue_as_new(args=[self._places.pack()], memo=whole_memo())

    def _tell_limit(self) -> None:
        if self._places.limit != self._told_limit:
            self._told_limit = self._places.limit
            workflow.upsert_memo({LIMIT_MEMO: self._told_limit})

    async def _grant(self) -> None:
        places = self._places.grant(workflow.now(), _TOLD)
        told = [place.model_dump(mode="json") for place in places]
        gone = await workflow.execute_local_activity(
            GRANT_PLACES,
            args=[workflow.info().workflow_id, told],
            result_type=list[dict[str, Any]],
            start_to_close_timeout=CALL,
            retry_policy=AGAIN,
        )
        self._has_granted = True
        for place in gone:
            self._places.leave(Left.model_validate(place), workflow.now())

    # -- looking after those that have a place ------------------------------------------------------------

    def _look(self) -> None:
        due = self._places.next_look()
        if self._looking is not None or due is None or due > workflow.now():
            return
        self._looked_at = self._places.to_look_at(workflow.now(), _LOOKED_AT)
        if not self._looked_at:
            return
        self._looking = workflow.start_activity(
            LOOK_AT_HOLDERS,
            args=[workflow.info().workflow_id, [place.model_dump(mode="json") for place in self._looked_at]],
            result_type=list[str],
            start_to_close_timeout=timedelta(minutes=1),
            retry_policy=AGAIN,
            summary="are those that have a place still at work?",
        )

    async def _heed_look(self) -> None:
        if self._looking is None or not self._looking.done():
            return
        looking, self._looking = self._looking, None
        for place, found in zip(self._looked_at, await looking, strict=True):
            self._places.looked(place, found, workflow.now())

    # -- waiting ------------------------------------------------------------------------------------------

    def _is_done(self) -> bool:
        if not self._places.is_empty:
            self._empty_since = None
            return False
        self._empty_since = self._empty_since or workflow.now()
        return workflow.now() >= self._empty_since + IDLE

    async def _until_something(self) -> None:
        self._set_alarm()
        await workflow.wait_condition(
            lambda: (
                self._places.has_news
                or (self._places.is_empty and self._empty_since is None)
                or self._places.limit != self._told_limit
                or self._is_alarm_late()
                or workflow.info().is_continue_as_new_suggested()
                or (self._looking is not None and self._looking.done())
                or (self._alarm is not None and self._alarm.done())
            )
        )
        if self._alarm is not None and self._alarm.done():
            self._alarm = None

    def _set_alarm(self) -> None:
        """One timer for whatever is next. A later one is set when it has rung: it costs no more than a look around."""
        due = self._due()
        if due is None or not self._is_alarm_late():
            return
        if self._alarm is not None:
            self._alarm.cancel()
        left = max(due - workflow.now(), timedelta(milliseconds=1))
        self._alarm, self._alarm_at = asyncio.create_task(workflow.sleep(left)), due

    def _due(self) -> datetime | None:
        """When there is something to do, whatever is said meanwhile."""
        if self._empty_since is not None:
            return self._empty_since + IDLE
        return self._places.next_look() if self._looking is None else None

    def _is_alarm_late(self) -> bool:
        due = self._due()
        return due is not None and (self._alarm is None or self._alarm_at is None or due < self._alarm_at)

    # -- what is said to it -------------------------------------------------------------------------------

    @workflow.signal(name=ASK)
    @forgiving
    def ask(self, asked: dict[str, Any]) -> None:
        """A job wants a place."""
        self._places.ask(Ask.model_validate(asked), workflow.now())

    @workflow.signal(name=LEAVE)
    @forgiving
    def leave(self, left: dict[str, Any]) -> None:
        """A job needs its place no more."""
        self._places.leave(Left.model_validate(left), workflow.now())

    @workflow.signal(name=CHANGE)
    @forgiving
    def change(self, changed: dict[str, Any]) -> None:
        """Somebody changed the limit itself."""
        self._places.change(Changed.model_validate(changed))

    @workflow.query(name=LINE)
    def line(self, job: str | None = None) -> dict[str, Any]:
        """How it stands, as `job` sees it."""
        return self._places.view(job).model_dump(mode="json")


def _read(arguments: Sequence[RawValue]) -> Places:
    """What an earlier run left; nothing when there was none, or for what somebody else gave: jobs count on the limit,
    however it came to be there."""
    try:
        packed = one_argument(arguments)
        return Places.unpack(packed) if packed is not None else Places()
    except Exception as fault:
        workflow.logger.warning("what this limit was started with is left aside: %s", fault)
        return Places()
