"""A book as the server's own schedule: compiled rule, policies, and what to start."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleCalendarSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleState,
)
from temporalio.common import TypedSearchAttributes

from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.schedule import Overlap
from duetime.contracts.schedule_book import MADE_BY, Book
from duetime.cron.compile import Compiled, compile_rule
from duetime.cron.reading import read_fields
from duetime.cron.zones import load_zone
from duetime.schedules.grace import server_window
from duetime.schedules.ids import action_id
from duetime.schedules.work import work_by_the_rule

OVERLAPS: dict[Overlap, ScheduleOverlapPolicy] = {
    "skip": ScheduleOverlapPolicy.SKIP,
    "queue_one": ScheduleOverlapPolicy.BUFFER_ONE,
    "queue_all": ScheduleOverlapPolicy.BUFFER_ALL,
    "allow": ScheduleOverlapPolicy.ALLOW_ALL,
    "cancel_running": ScheduleOverlapPolicy.CANCEL_OTHER,
    "terminate_running": ScheduleOverlapPolicy.TERMINATE_OTHER,
}
#: The server's bound on notes.
_NOTE_BYTES = 1000
#: A time that is left out stays so in the server's schedule for as long as jitter may still move it.
_SKIP_AFTER = timedelta(days=1, hours=1)


@dataclass(frozen=True)
class Native:
    """What the server is told, and how long that is exact."""

    schedule: Schedule
    compiled: Compiled
    #: How late the server may start a run by itself.
    window: timedelta


def native_of(book: Book, now: datetime) -> Native:
    """The server's schedule for `book` as of `now`; `RuleError` when the rule cannot be compiled."""
    spec = book.parsed
    rule = read_fields(spec, book.id)
    jitter = spec.jitter if spec.jitter_mode == "random" and spec.jitter else None
    compiled = compile_rule(rule, now, jitter=jitter)
    zone = compiled.spec.time_zone_name or "UTC"
    left_out = [_just(skip.at, zone) for skip in book.skips if skip.at > now - _SKIP_AFTER]
    compiled.spec.skip = [*compiled.spec.skip, *left_out]
    window = server_window(spec, rule, now)
    schedule = Schedule(
        action=_action(book),
        spec=compiled.spec,
        policy=SchedulePolicy(
            overlap=OVERLAPS[spec.overlap],
            catchup_window=window,
            pause_on_failure=spec.pause_on_failure,
        ),
        state=ScheduleState(
            note=_note(book),
            paused=book.pause is not None,
            limited_actions=book.runs_left is not None,
            remaining_actions=book.runs_left or 0,
        ),
    )
    return Native(schedule, compiled, window)


def made_by(book: Book, **more: Any) -> dict[str, Any]:
    """The memo of every run."""
    return {MADE_BY: {"schedule": book.id, "revision": book.revision, "applied": book.applied, **more}}


def _action(book: Book) -> ScheduleActionStartWorkflow:
    work = work_by_the_rule(book)
    return ScheduleActionStartWorkflow(
        work.type,
        args=work.arguments,
        id=action_id(book.id),
        task_queue=ORCHESTRATION_QUEUE,
        typed_search_attributes=TypedSearchAttributes(work.attributes),
        memo=made_by(book),
        priority=work.priority,
        static_summary=work.summary,
    )


def _note(book: Book) -> str:
    """For the Web UI: the rule in words, what its owner noted, and why it is paused."""
    said = [book.in_words, book.parsed.note]
    if pause := book.pause:
        said.append(f"paused by {pause.by}: {pause.reason}")
    text = " — ".join(filter(None, said))
    return text.encode()[:_NOTE_BYTES].decode("utf-8", "ignore")


def _just(instant: datetime, zone: str) -> ScheduleCalendarSpec:
    """The one second of `instant` on the clocks of `zone`, which is how the server matches what it leaves out."""
    wall = instant.astimezone(load_zone(zone))
    return ScheduleCalendarSpec(
        second=(ScheduleRange(wall.second),),
        minute=(ScheduleRange(wall.minute),),
        hour=(ScheduleRange(wall.hour),),
        day_of_month=(ScheduleRange(wall.day),),
        month=(ScheduleRange(wall.month),),
        year=(ScheduleRange(wall.year),),
    )
