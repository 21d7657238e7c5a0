"""The rule that a schedule's fields mean, and where in them a fault lies."""

from datetime import datetime

from duetime.contracts.explain import Fault
from duetime.contracts.instants import parse_in_zone, parse_instant
from duetime.contracts.json_value import escape_pointer
from duetime.contracts.rule import ExcludedLine, RuleFields
from duetime.cron.clock import at_wall_clock
from duetime.cron.errors import CronError, RuleError
from duetime.cron.rule import Rule, read_rule
from duetime.cron.zones import check_zone


def read_fields(fields: RuleFields, schedule_id: str | None = None) -> Rule:
    """The rule of `fields`; `schedule_id` is what `H` is chosen by.

    `RuleError` for what cannot be read; `fault_of` says where. Whether bounds and exclusions leave anything is
    asked with `check_fires`.
    """
    if fields.timezone is not None:
        _check_zone(fields.timezone)
    return read_rule(
        cron=fields.cron,
        every=fields.every,
        offset=fields.offset,
        at=None
        if fields.at is None
        else [_instant(text, fields, "at", i) for i, text in enumerate(fields.at)],
        timezone=fields.timezone,
        gap=fields.dst.gap,
        overlap=fields.dst.overlap,
        exclude=[{"cron": item.cron} if isinstance(item, ExcludedLine) else item for item in fields.exclude],
        start_at=_instant(fields.start_at, fields, "start_at") if fields.start_at is not None else None,
        end_at=_instant(fields.end_at, fields, "end_at") if fields.end_at is not None else None,
        schedule_id=schedule_id,
    )


def fault_of(error: RuleError, *prefix: str | int) -> Fault:
    """The fault for a problem document; `prefix` leads to the rule in what was sent. A cron line's has its column."""
    pointer = "".join(f"/{escape_pointer(str(step))}" for step in (*prefix, *error.path))
    if isinstance(error, CronError) and error.column is not None:
        return {"pointer": pointer, "message": str(error), "column": error.column}
    return {"pointer": pointer, "message": str(error)}


def read_instant(text: str, timezone: str | None) -> datetime:
    """An instant in UTC: RFC 3339 with an offset, or a wall time of `timezone`. `ValueError` says what is wrong.

    The zone is that of the one database which due times are computed from.
    """
    if timezone is None:
        return parse_instant(text)
    return parse_in_zone(text, lambda wall: at_wall_clock(wall, timezone))


def _check_zone(name: str) -> None:
    try:
        check_zone(name)
    except RuleError as error:
        raise error.under("timezone") from None


def _instant(text: str, fields: RuleFields, *path: str | int) -> datetime:
    try:
        return read_instant(text, fields.timezone)
    except ValueError as error:
        raise RuleError(str(error), path=path) from None
