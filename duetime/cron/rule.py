"""A recurring rule as a value: what fires, in which zone, by which daylight-saving policy, and what is left
out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal, get_args

from duetime.contracts.duration import Duration
from duetime.cron.cron import Cron
from duetime.cron.errors import CronError, RuleError
from duetime.cron.every import Every, EveryDays, on_calendar, read_every
from duetime.cron.exclude import Exclude
from duetime.cron.parse import parse
from duetime.cron.zones import check_zone

#: What a fixed time in a skipped hour does: fires right after the gap, or not at all.
Gap = Literal["after", "skip"]
#: Which of the two passes of a repeated hour a fixed time fires in.
Overlap = Literal["first", "last", "both"]

MAX_LINES = 32
MAX_INSTANTS = 1_000
MAX_EXCLUDED = 400
MAX_EXCLUDED_LINES = 50

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True)
class At:
    """A list of instants, ascending, each once: seconds since the Unix epoch."""

    instants: tuple[int, ...]


Line = Cron | Every | EveryDays | At


@dataclass(frozen=True)
class Rule:
    """What `read_rule` makes of a schedule's fields. The union of `lines` fires, each instant once."""

    lines: tuple[Line, ...]
    timezone: str = "UTC"
    gap: Gap = "after"
    overlap: Overlap = "first"
    exclude: Exclude = field(default_factory=Exclude)
    #: The first instant that may fire (included) and the one before which all must (excluded).
    start_at: datetime | None = None
    end_at: datetime | None = None
    warnings: tuple[str, ...] = ()


def read_rule(
    *,
    cron: str | Sequence[str] | None = None,
    every: Duration | None = None,
    offset: Duration | None = None,
    at: Sequence[datetime] | None = None,
    timezone: str | None = None,
    gap: Gap = "after",
    overlap: Overlap = "first",
    exclude: Sequence[str | date | Mapping[str, str]] = (),
    start_at: datetime | None = None,
    end_at: datetime | None = None,
    schedule_id: str | None = None,
) -> Rule:
    """Read the fields of a schedule that say when it fires.

    Exactly one of `cron` (a line or a list of lines), `every` (with `offset`) and `at`. `every` must arrive
    as it was written: `"1d"` with a `timezone` means calendar days, `"24h"` does not. `exclude` holds dates
    (`"2026-12-25"`) and lines (`{"cron": "* * 24-31 12 *"}`). `RuleError` carries the path of the faulty
    field.
    """
    given = [name for name, value in (("cron", cron), ("every", every), ("at", at)) if value is not None]
    if len(given) != 1:
        said = " and ".join(f"'{name}'" for name in given) or "none"
        raise RuleError(f"a rule is one of 'cron', 'every' and 'at', given {said}", path=tuple(given[:1]))
    if offset is not None and every is None:
        raise RuleError("goes with 'every' only", path=("offset",))
    _check_choice("gap", gap, get_args(Gap))
    _check_choice("overlap", overlap, get_args(Overlap))
    try:
        warnings = list(check_zone(timezone)) if timezone is not None else []
    except RuleError as error:
        raise error.under("timezone") from None
    lines: list[Line]
    if cron is not None:
        lines = _read_lines(cron, schedule_id, warnings)
    elif every is not None:
        lines = [read_every(every, offset)]
    else:
        lines = [_read_instants(at or ())]
    if timezone is not None:
        lines = [on_calendar(line) if isinstance(line, Every) and line.in_days else line for line in lines]
    start_at, end_at = _read_bounds(start_at, end_at)
    return Rule(
        lines=tuple(dict.fromkeys(lines)),
        timezone=timezone or "UTC",
        gap=gap,
        overlap=overlap,
        exclude=_read_exclude(exclude, schedule_id),
        start_at=start_at,
        end_at=end_at,
        warnings=tuple(warnings),
    )


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise RuleError(f"{value!r} is not one of {', '.join(allowed)}", path=("dst", name))


def _read_lines(cron: str | Sequence[str], schedule_id: str | None, warnings: list[str]) -> list[Line]:
    texts = [cron] if isinstance(cron, str) else list(cron)
    if not 1 <= len(texts) <= MAX_LINES:
        raise RuleError(f"{len(texts)} lines", hint=f"give 1 to {MAX_LINES}", path=("cron",))
    lines: list[Line] = []
    for index, text in enumerate(texts):
        try:
            line = parse(text, schedule_id)
        except RuleError as error:
            raise error.under("cron", *([] if isinstance(cron, str) else [index])) from None
        lines.append(line)
        if isinstance(line, Cron):
            warnings += line.warnings if len(texts) == 1 else [f"{text}: {said}" for said in line.warnings]
    return lines


def _read_instants(at: Sequence[datetime]) -> At:
    if not 1 <= len(at) <= MAX_INSTANTS:
        raise RuleError(f"{len(at)} instants", hint=f"give 1 to {MAX_INSTANTS}", path=("at",))
    seconds = set[int]()
    for index, instant in enumerate(at):
        aware = _aware(instant, "at", index)
        if aware.microsecond:
            raise RuleError("must be a whole second", hint="schedules fire on the second", path=("at", index))
        seconds.add(int(aware.timestamp()))
    return At(tuple(sorted(seconds)))


def _read_exclude(exclude: Sequence[str | date | Mapping[str, str]], schedule_id: str | None) -> Exclude:
    if len(exclude) > MAX_EXCLUDED:
        raise RuleError(f"{len(exclude)} exclusions", hint=f"give at most {MAX_EXCLUDED}", path=("exclude",))
    dates: set[date] = set()
    lines: list[Cron] = []
    for index, item in enumerate(exclude):
        if isinstance(item, Mapping):
            lines.append(_read_excluded_line(item, index, schedule_id))
        else:
            dates.add(_read_date(item, index))
    if len(lines) > MAX_EXCLUDED_LINES:
        hint = f"give at most {MAX_EXCLUDED_LINES}: a line names many times"
        raise RuleError(f"{len(lines)} excluded lines", hint=hint, path=("exclude",))
    return Exclude(frozenset(dates), tuple(dict.fromkeys(lines)))


def _read_excluded_line(item: Mapping[str, str], index: int, schedule_id: str | None) -> Cron:
    if set(item) != {"cron"}:
        raise RuleError("must be a date or {'cron': …}", path=("exclude", index))
    try:
        line = parse(item["cron"], schedule_id)
        if isinstance(line, Every):
            raise CronError(
                "'@every' names no times of day", hint="write five fields, as in '* * 24-31 12 *'"
            )
    except RuleError as error:
        raise error.under("exclude", index, "cron") from None
    return line


def _read_date(item: str | date, index: int) -> date:
    if isinstance(item, date) and not isinstance(item, datetime):
        return item
    if isinstance(item, str) and _DATE.fullmatch(item):
        try:
            return date.fromisoformat(item)
        except ValueError:
            pass
    raise RuleError(f"{item!r} is not a date", hint="write one as '2026-12-25'", path=("exclude", index))


def _read_bounds(
    start_at: datetime | None, end_at: datetime | None
) -> tuple[datetime | None, datetime | None]:
    start = _aware(start_at, "start_at") if start_at is not None else None
    end = _aware(end_at, "end_at") if end_at is not None else None
    if start is not None and end is not None and end <= start:
        raise RuleError("must be later than 'start_at'", path=("end_at",))
    return start, end


def _aware(instant: datetime, *path: str | int) -> datetime:
    if instant.tzinfo is None:
        raise RuleError(
            "an instant needs an offset from UTC", hint="write '2027-01-15T09:00:00+01:00'", path=path
        )
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise RuleError("outside the years 1 to 9999", path=path) from None
