"""`Client.schedules`: recurring rules over HTTP, from asyncio."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypedDict, Unpack

from pydantic import Field

from duetime.client.answer import read
from duetime.client.call import Call, Repeat, occurrence_path, schedule_path
from duetime.client.fields import Moment, query_of, wire
from duetime.client.sender import Sender
from duetime.contracts.duration import Duration
from duetime.contracts.forecast import ForecastView
from duetime.contracts.preview import PreviewView
from duetime.contracts.rule import RuleFields
from duetime.contracts.schedule import Overlap, ScheduleSpec
from duetime.contracts.schedule_sets import AppliedView
from duetime.contracts.schedule_view import (
    BackfillAnswer,
    Occurrence,
    OccurrencePage,
    SchedulePage,
    ScheduleSummary,
    ScheduleView,
    Triggered,
)

#: A schedule: its model, or a mapping with its fields by name; spans and instants may be Python's own.
Spec = ScheduleSpec | Mapping[str, Any]
#: How long the API works on one call to `apply`.
_APPLYING = timedelta(seconds=10)


class RuleInput(TypedDict, total=False):
    """The fields of a rule; `None` is the same as leaving one out."""

    cron: str | list[str] | None
    every: Duration | None
    offset: Duration | None
    at: list[Moment] | None
    timezone: str | None
    dst: Mapping[str, str] | None
    exclude: list[str | Mapping[str, str]] | None
    start_at: Moment | None
    end_at: Moment | None


class ScheduleFilters(TypedDict, total=False):
    """Which schedules: everything given must hold."""

    state: Literal["active", "paused", "finished"] | None
    kind: str | None
    queue: str | None
    tag: str | None


class PutSchedule(ScheduleView):
    """The schedule that a `put` led to."""

    #: Whether this call made it; `False` for one that was there.
    created: bool = Field(True, exclude=True)


class Schedules:
    """Schedules of the API. `by` says who acts, where the key does not say it already."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    # -- keeping ------------------------------------------------------------------------------------------

    async def put(
        self, schedule_id: str, spec: Spec, *, revision: int | None = None, new: bool = False
    ) -> PutSchedule:
        """Creates or replaces a schedule; the same content changes nothing. What operators paused stays paused.

        With `revision` only while it is at that one, with `new` only when there is none: a `Conflict` otherwise.
        """
        headers = {}
        if revision is not None:
            headers["If-Match"] = f'"{revision}"'
        if new:
            headers["If-None-Match"] = "*"
        call = Call("PUT", schedule_path(schedule_id), body=_body(spec), headers=headers)
        response = await self._sender.send(call)
        schedule = read(PutSchedule, response)
        schedule.created = response.status_code == 201
        return schedule

    async def get(self, schedule_id: str) -> ScheduleView:
        """The schedule, exact and current."""
        return await self._schedule(Call("GET", schedule_path(schedule_id)))

    async def delete(self, schedule_id: str, *, revision: int | None = None) -> None:
        """Deletes it; runs that are open go on. `NotFound` when there is none, or no more."""
        headers = {"If-Match": f'"{revision}"'} if revision is not None else {}
        await self._sender.send(Call("DELETE", schedule_path(schedule_id), headers=headers))

    async def page(
        self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[ScheduleFilters]
    ) -> SchedulePage:
        """One page of the list, by id (up to 200); `next_cursor` goes on."""
        query = query_of({**filters, "limit": limit, "cursor": cursor})
        return read(SchedulePage, await self._sender.send(Call("GET", "/v1/schedules", query=query)))

    async def list(
        self, *, page_size: int = 200, **filters: Unpack[ScheduleFilters]
    ) -> AsyncGenerator[ScheduleSummary]:
        """All schedules that the filters hold, by id, page by page."""
        cursor: str | None = None
        while True:
            page = await self.page(limit=page_size, cursor=cursor, **filters)
            for schedule in page.schedules:
                yield schedule
            cursor = page.next_cursor
            if cursor is None:
                return

    async def apply(
        self, schedules: Iterable[Spec], *, prune: bool = False, dry_run: bool = False
    ) -> AppliedView:
        """Makes the schedules there be those: each with its `id`. Others stay, or with `prune` are deleted.

        All are checked before any is touched. `dry_run` says what differs and does nothing. Goes on until all are
        done, however many calls that takes; doing it again is safe.
        """
        body = {"schedules": [_body(spec) for spec in schedules], "prune": prune, "dry_run": dry_run}
        call = Call("POST", "/v1/schedules:apply", body=body, wait=_APPLYING)
        done = read(AppliedView, await self._sender.send(call))
        while done.left:
            more = read(AppliedView, await self._sender.send(call))
            if more.left == done.left:
                return _together(done, more)
            done = _together(done, more)
        return done

    # -- looking ahead and back ---------------------------------------------------------------------------

    async def preview(
        self,
        rule: RuleFields | RuleInput | Mapping[str, Any],
        *,
        schedule_id: str | None = None,
        start: Moment | None = None,
        n: int | None = None,
    ) -> PreviewView:
        """What a rule would do, in words and as its next `n` due times from `start` on; nothing is kept.

        `InvalidField` for a rule that cannot be read or never fires. `schedule_id` is what `H` is chosen by.
        """
        body = _body(rule) | wire({"id": schedule_id, "from": start, "n": n})
        return read(PreviewView, await self._sender.send(Call("POST", "/v1/schedules:preview", body=body)))

    async def forecast(self, hours: int | None = None) -> ForecastView:
        """Starts per minute over all schedules in the next `hours` (24; up to 168), and what would spread the peaks."""
        query = query_of({"hours": hours})
        return read(ForecastView, await self._sender.send(Call("GET", "/v1/schedules:forecast", query=query)))

    async def occurrences(
        self, schedule_id: str, *, start: Moment | None = None, end: Moment | None = None
    ) -> AsyncGenerator[Occurrence]:
        """Every time of the rule in a span, and what became of it; by default from a day ago to a day ahead."""
        while True:
            query = query_of({"from": start, "to": end})
            call = Call("GET", schedule_path(schedule_id, "/occurrences"), query=query)
            page = read(OccurrencePage, await self._sender.send(call))
            for occurrence in page.occurrences:
                yield occurrence
            if page.next_from is None:
                return
            start = page.next_from

    # -- commands -----------------------------------------------------------------------------------------

    async def pause(
        self, schedule_id: str, reason: str, *, until: Moment | None = None, by: str | None = None
    ) -> ScheduleView:
        """Starts no more runs by the rule, until `until` or for good."""
        return await self._command(schedule_id, ":pause", {"reason": reason, "until": until, "by": by})

    async def resume(
        self, schedule_id: str, *, missed: Literal["leave", "run"] | None = None, by: str | None = None
    ) -> ScheduleView:
        """Starts runs again; `missed="run"` makes up those that the pause kept back."""
        return await self._command(schedule_id, ":resume", {"missed": missed, "by": by})

    async def trigger(
        self, schedule_id: str, *, overlap: Overlap | None = None, by: str | None = None
    ) -> Triggered:
        """A run now, beside the rule. Not sent again if it may have been done."""
        body = wire({"overlap": overlap, "by": by})
        call = Call("POST", schedule_path(schedule_id, ":trigger"), body=body, repeat=Repeat.IF_NOT_DONE)
        return read(Triggered, await self._sender.send(call))

    async def skip(
        self, schedule_id: str, nominal_time: Moment, *, reason: str | None = None, by: str | None = None
    ) -> ScheduleView:
        """Leaves out exactly one time to come; a `Conflict` once it has fired."""
        at = wire({"at": nominal_time})["at"]
        path = occurrence_path(schedule_id, at, ":skip")
        return await self._schedule(Call("POST", path, body=wire({"reason": reason, "by": by})))

    async def backfill(
        self,
        schedule_id: str,
        start: Moment,
        end: Moment,
        *,
        overlap: Literal["queue_all", "allow"] | None = None,
        dry_run: bool = False,
        force: bool = False,
        by: str | None = None,
    ) -> BackfillAnswer:
        """Runs for the times from `start` to `end` that have none which succeeded; `force`: also for those."""
        fields = {
            "from": start,
            "to": end,
            "overlap": overlap,
            "dry_run": dry_run or None,
            "force": force or None,
        }
        body = wire({**fields, "by": by})
        return read(
            BackfillAnswer,
            await self._sender.send(Call("POST", schedule_path(schedule_id, ":backfill"), body=body)),
        )

    async def _command(self, schedule_id: str, command: str, fields: Mapping[str, Any]) -> ScheduleView:
        return await self._schedule(Call("POST", schedule_path(schedule_id, command), body=wire(fields)))

    async def _schedule(self, call: Call) -> ScheduleView:
        return read(ScheduleView, await self._sender.send(call))


def _body(spec: Any) -> dict[str, Any]:
    """A schedule or a rule as JSON."""
    if isinstance(spec, RuleFields):
        return spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
    return wire(spec)


def _together(first: AppliedView, more: AppliedView) -> AppliedView:
    """Two calls as one: what the first did is unchanged to the second."""
    changed = {one.id for one in first.changed}
    done = {*first.created, *changed}
    return AppliedView(
        dry_run=more.dry_run,
        created=[*first.created, *more.created],
        changed=[*first.changed, *(one for one in more.changed if one.id not in changed)],
        unchanged=[name for name in more.unchanged if name not in done],
        pruned=[*first.pruned, *more.pruned],
        failed=more.failed,
        left=more.left,
    )
