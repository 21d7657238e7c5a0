"""Checks of schedules: those that wait for somebody who may have forgotten them, or that nobody looks after."""

import shlex
from collections.abc import Iterable
from datetime import datetime, timedelta

from duetime.contracts.duration import format_duration
from duetime.contracts.schedule_view import ScheduleState, ScheduleSummary
from duetime.doctor.findings import Finding, error, ok, warning
from duetime.schedules.ids import entity_id

#: A pause without an end that lasts longer is worth a word.
_LONG = timedelta(days=7)


def examine_schedules(
    schedules: Iterable[ScheduleSummary], now: datetime, left: Iterable[str] = ()
) -> list[Finding]:
    """What is not well with schedules, and with those `left` behind; one line when all is. Pure."""
    known = sorted(schedules, key=lambda schedule: schedule.id)
    found = [_left(schedule_id) for schedule_id in left]
    found += [
        error(
            "schedules",
            f"schedule `{one.id}` does not fire: {one.fault}",
            f"put it again: PUT /v1/schedules/{one.id}",
        )
        for one in known
        if one.fault is not None
    ]
    found += [
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


def _left(schedule_id: str) -> Finding:
    return error(
        "schedules",
        f"schedule `{schedule_id}` is on the server, which fires it by its rule, but its workflow "
        f"`{entity_id(schedule_id)}` is gone: nobody looks after it, and the API does not know it",
        f"put it again (PUT /v1/schedules/{schedule_id}), or end it: "
        f"temporal schedule delete --schedule-id {shlex.quote(schedule_id)}",
    )


def _days(span: timedelta) -> str:
    return format_duration(timedelta(days=span.days))
