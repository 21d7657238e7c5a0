"""Schedules, page by page, by id."""

import base64
import heapq
from dataclasses import dataclass

from api.patience import in_time
from api.problems import invalid
from api.schedules.reading import ScheduleReader
from duetime.contracts.schedule_view import SchedulePage, ScheduleState, ScheduleSummary


@dataclass(frozen=True)
class Wanted:
    """What a list is narrowed to; all of it must hold."""

    state: ScheduleState | None = None
    paused: bool | None = None
    kind: str | None = None
    queue: str | None = None
    tag: str | None = None

    def holds(self, schedule: ScheduleSummary) -> bool:
        is_paused = schedule.paused is not None
        return (
            self.state in (None, schedule.state)
            and self.paused in (None, is_paused)
            and (self.kind is None or self.kind in schedule.kinds)
            and (self.queue is None or self.queue in schedule.queues)
            and (self.tag is None or self.tag in schedule.tags)
        )


@in_time()
async def page(reader: ScheduleReader, wanted: Wanted, limit: int, cursor: str | None) -> SchedulePage:
    """One page of those that the caller may see. A walk meets each that is there all the time exactly once."""
    after = _read(cursor) if cursor else ""
    found: dict[str, ScheduleSummary] = {}  # one that goes on in a fresh history may be met twice
    async for schedule in reader.summaries():
        if schedule.id > after and wanted.holds(schedule):
            found[schedule.id] = schedule
    first = heapq.nsmallest(limit + 1, found)
    shown = [found[schedule_id] for schedule_id in first[:limit]]
    return SchedulePage(schedules=shown, next_cursor=_write(shown[-1].id) if len(first) > limit else None)


def _write(schedule_id: str) -> str:
    return base64.urlsafe_b64encode(schedule_id.encode()).decode().rstrip("=")


def _read(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        raise invalid([{"pointer": "query cursor", "message": "is none that a list gave"}]) from None
