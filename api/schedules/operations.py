"""What operators do with a schedule: pause, resume, trigger, backfill, leave one time out."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from temporalio.client import Client

from activities.schedules.runs import runs_between
from api.problems import Problem, invalid
from api.schedules.commands import Commander
from api.schedules.reading import ScheduleReader
from api.schedules.views import backfill_view
from duetime.contracts import limits
from duetime.contracts.instants import format_instant, parse_instant
from duetime.contracts.schedule_book import Backfill, Book
from duetime.contracts.schedule_requests import (
    ScheduleBackfill,
    SchedulePause,
    ScheduleResume,
    ScheduleSkip,
    ScheduleTrigger,
)
from duetime.contracts.schedule_view import BackfillAnswer, Triggered
from duetime.contracts.states import State
from duetime.cron.reading import read_fields
from duetime.cron.zones import load_zone
from duetime.schedules.account import link_of
from duetime.schedules.backfills import times_of
from duetime.schedules.ids import run_id
from duetime.schedules.times import rule_times

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Operator:
    """Operates schedules that `reader.caller` may see."""

    client: Client
    reader: ScheduleReader
    commander: Commander

    async def pause(self, schedule_id: str, why: SchedulePause, by: str) -> None:
        await self.reader.book(schedule_id)
        until = parse_instant(why.until) if why.until is not None else None
        if until is not None and until <= datetime.now(UTC):
            raise invalid([{"pointer": "/until", "message": "has passed already"}])
        told = {"reason": why.reason, "by": by, "until": format_instant(until) if until else None}
        await self.commander.tell(schedule_id, "pause", told)

    async def resume(self, schedule_id: str, how: ScheduleResume, by: str) -> None:
        await self.reader.book(schedule_id)
        await self.commander.tell(schedule_id, "resume", {"by": by, "missed": how.missed})

    async def trigger(self, schedule_id: str, how: ScheduleTrigger, by: str) -> Triggered:
        book = await self.reader.book(schedule_id)
        told = await self.commander.tell(schedule_id, "trigger", {"by": by, "overlap": how.overlap})
        run, what = str(told["job_id"]), "job" if book.pipeline is None else "pipeline"
        links = {what: link_of(run, is_pipeline=what == "pipeline")}
        return Triggered.model_validate({f"{what}_id": run, "state": told["state"], "links": links})

    async def backfill(self, schedule_id: str, wanted: ScheduleBackfill, by: str) -> BackfillAnswer:
        """Takes a backfill on, or says what it would start."""
        book = await self.reader.book(schedule_id)
        now = datetime.now(UTC)
        asked = _as_asked(book, wanted, by, now)
        times = list(islice(times_of(book, asked), limits.BACKFILL_TIMES + 1))
        if len(times) > limits.BACKFILL_TIMES:
            message = f"more than {limits.BACKFILL_TIMES:,} times: backfill them in parts"
            raise invalid([{"pointer": "/to", "message": message}])
        left = set() if wanted.force else await self._succeeded(book, times)
        to_run = [at for at in times if at not in left]
        taken = None
        if not wanted.dry_run and to_run:
            command = asked.model_dump(mode="json") | {"total": len(times)}
            told = await self.commander.tell(schedule_id, "backfill", command)
            taken = backfill_view(Backfill.model_validate(told))
        return BackfillAnswer(
            dry_run=wanted.dry_run,
            count=len(to_run),
            left=len(times) - len(to_run),
            times=to_run[: limits.OCCURRENCES],
            backfill=taken,
        )

    async def skip(self, schedule_id: str, nominal: str, why: ScheduleSkip, by: str) -> None:
        """Leaves out exactly one time to come."""
        book = await self.reader.book(schedule_id)
        try:
            at = parse_instant(nominal)
        except ValueError as error:
            raise invalid([{"pointer": "path nominal", "message": str(error)}]) from None
        fire = next(rule_times(book, at - _TICK, at, with_excluded=True), None)
        if fire is None:
            detail = f"the rule does not name {format_instant(at)}; occurrences tell which times it names"
            raise Problem(404, "not-found", "Not found", detail)
        if "excluded" in fire.tags:
            return
        if at <= datetime.now(UTC):
            raise Problem(409, "too-late", "Too late", "that time has come already")
        if (twin := _other_pass(book, at)) is not None:
            detail = (
                f"its wall time comes twice, again at {format_instant(twin)}, and the server can leave out only both: "
                "pause the schedule until it is over"
            )
            raise Problem(409, "repeated-time", "Cannot be told apart", detail)
        command = {"at": format_instant(at), "by": by, "reason": why.reason or ""}
        await self.commander.tell(schedule_id, "skip", command)

    async def _succeeded(self, book: Book, times: list[datetime]) -> set[datetime]:
        """Those of `times` whose run is open or has succeeded."""
        if not times:
            return set()
        runs = await runs_between(self.client, book.id, times[0], times[-1])
        done = {run.job_id for run in runs if run.closed_at is None or run.state is State.SUCCEEDED}
        return {at for at in times if run_id(book.id, at) in done}


def _as_asked(book: Book, wanted: ScheduleBackfill, by: str, now: datetime) -> Backfill:
    begin, end = parse_instant(wanted.begin), parse_instant(wanted.end)
    if end > now:
        raise invalid(
            [{"pointer": "/to", "message": "is in the future: a backfill is for times that have come"}]
        )
    overlap: Any = wanted.overlap or ("allow" if book.parsed.overlap == "allow" else "queue_all")
    return Backfill(id="", begin=begin, end=end, overlap=overlap, force=wanted.force, by=by, requested_at=now)


def _other_pass(book: Book, at: datetime) -> datetime | None:
    """The other time of the rule with the same wall time, where clocks go back."""
    zone = load_zone(read_fields(book.parsed, book.id).timezone)
    wall = at.astimezone(zone)
    other = wall.replace(fold=1 - wall.fold)
    twin = other.astimezone(UTC) if other.utcoffset() != wall.utcoffset() else None
    if twin is None or twin == at or next(rule_times(book, twin - _TICK, twin), None) is None:
        return None
    return twin
