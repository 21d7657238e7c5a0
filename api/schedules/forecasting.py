"""What all schedules together are about to start."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from api.patience import in_time
from api.problems import invalid
from api.schedules.reading import ScheduleReader
from duetime.contracts.duration import format_duration
from duetime.contracts.forecast import (
    FlatterForecast,
    FlatterLine,
    ForecastMinute,
    ForecastPeak,
    ForecastView,
)
from duetime.contracts.schedule_book import Book
from duetime.cron import RuleError, read_fields
from duetime.schedules.forecast import NAMED, Forecast, Planned, TooMany, forecast


@dataclass(frozen=True)
class Forecaster:
    """Looks ahead over the schedules that `reader.caller` may see."""

    reader: ScheduleReader

    @in_time()
    async def forecast(self, hours: int) -> ForecastView:
        """Starts per minute in the next `hours`; `422` for more than can be computed."""
        books = {book.id: book async for book in self.reader.books()}
        try:
            # Computing takes seconds at the very most, during which others are served.
            return await asyncio.to_thread(_foreseen, list(books.values()), datetime.now(UTC), hours)
        except TooMany as error:
            message = f"the schedules name {error} in that time: ask for fewer hours"
            raise invalid([{"pointer": "query hours", "message": message}]) from None


def _foreseen(books: list[Book], now: datetime, hours: int) -> ForecastView:
    end = now + timedelta(hours=hours)
    plans: list[Planned] = []
    unreadable: list[str] = []
    paused = 0
    for book in sorted(books, key=lambda one: one.id):
        pause = book.pause
        if pause is not None and (pause.until is None or pause.until >= end):
            paused += 1
            continue
        try:
            plans.append(plan_of(book))
        except (RuleError, ValueError):
            unreadable.append(book.id)
    found = forecast(plans, now, hours)
    return ForecastView.model_validate(
        {
            "from": found.start,
            "to": found.start + timedelta(hours=hours),
            "schedules": len(plans),
            "paused": paused,
            "unreadable": unreadable,
            "starts": round(sum(found.minutes), 2),
            "minutes": [
                ForecastMinute(at=_at(found, minute), starts=round(starts, 2))
                for minute, starts in enumerate(found.minutes)
                if starts >= 0.005
            ],
            "peaks": [
                ForecastPeak(
                    at=_at(found, peak.minute),
                    starts=round(peak.starts, 2),
                    share=round(peak.share, 4),
                    schedules=len(peak.of),
                    of=list(peak.of[:NAMED]),
                )
                for peak in found.peaks
            ],
            "flatter": _flatter(found),
        }
    )


def plan_of(book: Book) -> Planned:
    """What a schedule will start; `RuleError` when its rule cannot be read any more."""
    spec = book.parsed
    return Planned(
        id=book.id,
        rule=read_fields(spec, book.id),
        jitter=spec.jitter,
        is_stable=spec.jitter_mode == "stable",
        paused_until=book.pause.until if book.pause is not None else None,
        runs_left=book.runs_left,
        left_out=frozenset(skip.at for skip in book.skips),
    )


def _flatter(found: Forecast) -> FlatterForecast | None:
    if found.flatter is None:
        return None
    changes = [
        FlatterLine(
            line=change.line,
            cron=change.cron,
            jitter=format_duration(change.jitter) if change.jitter is not None else None,
            schedules=len(change.of),
            of=list(change.of[:NAMED]),
        )
        for change in found.changes
    ]
    peak = found.flatter
    return FlatterForecast(changes=changes, starts=round(peak.starts, 2), share=round(peak.share, 4))


def _at(found: Forecast, minute: int) -> datetime:
    return found.start + timedelta(minutes=minute)
