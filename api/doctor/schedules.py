"""Checks of schedules: those that wait for somebody who may have forgotten them."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from duetime.contracts.duration import format_duration
from duetime.contracts.schedule_view import ScheduleState, ScheduleSummary
from duetime.doctor.findings import Finding, ok, warning

#: A pause without an end that lasts longer is worth a word.
_LONG = timedelta(days=7)


def examine_schedules(schedules: Iterable[ScheduleSummary], now: datetime) -> list[Finding]:
    """What is not well with schedules; one line when all is. Pure."""
    known = sorted(schedules, key=lambda schedule: schedule.id)
    found = [
        warning(
            "schedules",
            f"schedule `{one.id}` is paused by {pause.by} for {_days(now - pause.since)}: {pause.reason}",
            f"resume it (POST /v1/schedules/{one.id}:resume), or delete it",
        )
        for one in known
        if (pause := one.paused) is not None and pause.until is None and now - pause.since > _LONG
    ]
    over = sum(one.state is ScheduleState.FINISHED for one in known)
    well = (
        f"none of {len(known):,} is paused for long; {over:,} will not fire again, as they were meant to end"
    )
    return found or [ok("schedules", well)]


def _days(span: timedelta) -> str:
    return format_duration(timedelta(days=span.days))
