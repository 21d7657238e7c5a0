"""What a schedule's entity has done on the server, through activities."""

from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from activities.schedules import names
    from duetime.contracts.instants import format_instant, parse_instant
    from duetime.contracts.schedule import Overlap
    from duetime.contracts.schedule_book import Backfill, Book, Server

#: A command answers within seconds or fails; what the entity does by itself is tried until it succeeds.
_QUICK = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=3)
_PATIENT = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1))
_AT_ONE_GO = 25


async def look(book: Book) -> Server:
    return Server.model_validate(await _quickly(names.LOOK, book.id))


async def apply(book: Book, seen: Server | None = None) -> tuple[Book, bool]:
    """The book as the server has it now, and whether times just before may have been lost to this."""
    told: dict[str, Any] = await _quickly(
        names.APPLY, book.compact(), *([seen.model_dump(mode="json")] if seen is not None else [])
    )
    applied = book.model_copy(
        update={
            "applied_paused": book.pause is not None,
            "renew_at": parse_instant(told["renew_at"]) if told["renew_at"] else None,
            "exact_until": parse_instant(told["exact_until"]) if told["exact_until"] else None,
            "zones_version": told["zones_version"],
            "server_window": told["window"],
        }
    )
    return applied, bool(told["near"])


async def remove(book: Book) -> None:
    await _quickly(names.REMOVE, book.id)


async def pick(book: Book) -> str:
    """A second for a run beside the rule."""
    after = format_instant(book.triggered_at) if book.triggered_at else None
    picked: str = await _quickly(names.PICK, book.compact(), after)
    return picked


async def trigger(book: Book, nominal: str, overlap: Overlap) -> dict[str, Any]:
    told: dict[str, Any] = await _quickly(names.TRIGGER, book.compact(), nominal, overlap)
    return told


async def start(book: Book, job_id: str, nominal: str) -> None:
    await _quickly(names.START, book.compact(), job_id, nominal)


async def judge(book: Book, edited_at: datetime | None = None) -> dict[str, Any]:
    """Which times are to be made up."""
    told: dict[str, Any] = await workflow.execute_activity(
        names.JUDGE,
        args=[book.compact(), format_instant(edited_at) if edited_at else None],
        start_to_close_timeout=timedelta(minutes=2),
        heartbeat_timeout=timedelta(seconds=20),
        retry_policy=_PATIENT,
        summary="looks for missed times",
    )
    return told


def portions(times: list[str]) -> list[list[str]]:
    """Times in as many as are made up before somebody else's command has its turn."""
    return [times[index : index + _AT_ONE_GO] for index in range(0, len(times), _AT_ONE_GO)]


async def make_up(book: Book, times: list[str]) -> None:
    await workflow.execute_activity(
        names.MAKE_UP,
        args=[book.compact(), times],
        start_to_close_timeout=timedelta(minutes=2),
        retry_policy=_PATIENT,
        summary=f"makes up {len(times)} times",
    )


async def backfill(book: Book, wanted: Backfill) -> dict[str, Any]:
    """The next runs of a backfill; ends with them."""
    told: dict[str, Any] = await workflow.execute_activity(
        names.BACKFILL,
        args=[book.compact(), wanted.model_dump(mode="json")],
        start_to_close_timeout=timedelta(days=365),
        heartbeat_timeout=timedelta(seconds=10),
        retry_policy=_PATIENT,
        summary=f"backfill {wanted.id}",
    )
    return told


async def _quickly(name: str, *arguments: Any) -> Any:
    return await workflow.execute_activity(
        name,
        args=list(arguments),
        start_to_close_timeout=timedelta(seconds=20),
        schedule_to_close_timeout=timedelta(seconds=60),
        retry_policy=_QUICK,
    )
