"""What a schedule's entity is told, and how it refuses."""

from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, ValidationError
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from duetime.contracts.explain import explain, one_line
from duetime.contracts.record import Part
from duetime.contracts.schedule import Overlap, ScheduleSpec
from duetime.contracts.schedule_book import Backfill, Book, PauseSpan, Put, SkippedTime
from duetime.schedules.ids import entity_id

#: What `put` may have in JSON: all of it goes into the memo, for which the engine has 2 MB.
PUT_BYTES = 1_800_000


class PauseCommand(Part):
    reason: str
    by: str
    until: AwareDatetime | None = None

    def span(self, now: datetime) -> PauseSpan:
        return PauseSpan(since=now, until=self.until, reason=self.reason, by=self.by)


class ResumeCommand(Part):
    by: str
    missed: Literal["leave", "run"] = "leave"

    def backfill(self, pause: PauseSpan, overlap: Overlap, now: datetime, unique: str) -> Backfill:
        return Backfill(
            id=unique,
            begin=pause.since,
            end=now,
            overlap="allow" if overlap == "allow" else "queue_all",
            by=self.by,
            reason=f"resumed: {pause.reason}",
            requested_at=now,
        )


class SkipCommand(Part):
    at: AwareDatetime
    by: str
    reason: str = ""

    def skip(self) -> SkippedTime:
        return SkippedTime(at=self.at, by=self.by, reason=self.reason)


class TriggerCommand(Part):
    by: str
    overlap: Overlap | None = None


class BackfillCommand(Part):
    begin: AwareDatetime
    end: AwareDatetime
    overlap: Literal["queue_all", "allow"]
    force: bool = False
    by: str
    total: int = 0

    def is_same(self, other: Backfill) -> bool:
        return (self.begin, self.end, self.overlap, self.force) == (
            other.begin,
            other.end,
            other.overlap,
            other.force,
        )

    def backfill(self, now: datetime, unique: str) -> Backfill:
        return Backfill.model_validate(
            self.model_dump(mode="json") | {"id": unique, "requested_at": now.isoformat()}
        )


def check_put(_: Any, put: Put) -> None:
    """Refuses what is no schedule, or another one's, before it is taken on."""
    if entity_id(put.id) != workflow.info().workflow_id:
        raise refuse("InvalidArgument", f"the schedule {put.id[:100]!r} belongs to another workflow id", None)
    try:
        ScheduleSpec.model_validate(put.spec)
    except ValidationError as error:
        raise refuse(
            "InvalidArgument", one_line(explain(error, ScheduleSpec, put.spec), "the schedule"), None
        ) from None


def refuse(kind: str, message: str, book: Book | None) -> ApplicationError:
    """A command that cannot be carried out; its first detail is the revision, 0 for none."""
    return ApplicationError(message, book.revision if book else 0, type=kind, non_retryable=True)
