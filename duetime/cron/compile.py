"""A rule as the schedule specification that makes the Temporal server fire exactly when the rule says.

The calendars of one specification are a union, the fields within one must all match, intervals are exact
instants, and `skip` leaves out by the wall clock. Hence any rule in any zone can be said exactly, up to a
horizon where the zone changes its clocks: `plan` has how. The server's reading stops at the end of the year
2100.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from duetime.cron.clock import Change, changes_between
from duetime.cron.cron import EVERY_HOUR, EVERY_MINUTE, EVERY_SECOND
from duetime.cron.errors import RuleError
from duetime.cron.every import Every
from duetime.cron.exclude import Exclude
from duetime.cron.fires import instants
from duetime.cron.inverted import inverted
from duetime.cron.plan import Calendar, Plan, plan_line
from duetime.cron.rows import YEARS, Row, rows_of
from duetime.cron.rule import At, Rule
from duetime.cron.silence import check_silence
from duetime.cron.spec import ZonedScheduleSpec, calendar_spec, interval_spec, once
from duetime.cron.zones import VERSION, definition

HORIZON = timedelta(days=4 * 365 + 1)
#: A horizon is shortened for a rule that needs many entries, to a year and a month and no further.
SHORTEST_HORIZON = timedelta(days=396)
MAX_ENTRIES = 1_000
#: How far before `now` the specification is exact too: the longest catch-up window, and a day.
LOOK_BACK = timedelta(days=31)

#: A plan of more entries than this is worth saying the other way round.
_FEW = 100


@dataclass(frozen=True)
class Compiled:
    """`spec` fires as the rule says from 31 days before `now` until `exact_until`; `None` is for ever."""

    spec: ZonedScheduleSpec
    #: Compile again by this instant; the other half of the horizon is for whatever keeps that from happening.
    renew_at: datetime | None
    exact_until: datetime | None
    #: Calendars, intervals and skipped calendars.
    entries: int
    #: The edition of the time zone database in it; a new edition is a reason to compile again.
    zones_version: str = VERSION


def compile_rule(
    rule: Rule, now: datetime, horizon: timedelta = HORIZON, *, jitter: timedelta | None = None
) -> Compiled:
    """Compile `rule`; `RuleError` when it needs more than `MAX_ENTRIES` entries whatever the horizon."""
    now = now.astimezone(UTC)
    if any(isinstance(line, At) for line in rule.lines):
        return _compile_instants(rule, now, jitter)
    changes = _changes(rule, now - LOOK_BACK)
    until, plan = _fitting(rule, changes, now, horizon)
    if rule.exclude:
        check_silence(rule, now - LOOK_BACK, plan.tried_a_day)
    plan.skip += _excluded(rule.exclude, now - LOOK_BACK)
    if plan.entries > MAX_ENTRIES:
        raise RuleError(
            f"the rule takes more than {MAX_ENTRIES:,} entries on the server",
            hint="name fewer times in the hours when the clocks change, exclude less, or use 'UTC'",
        )
    bounded = plan.bounded and (rule.end_at is None or rule.end_at > until)
    return Compiled(
        spec=ZonedScheduleSpec(
            calendars=[calendar_spec(calendar) for calendar in dict.fromkeys(plan.calendars)],
            intervals=[
                *(interval_spec(span, offset) for span, offset in sorted(plan.intervals)),
                *(once(instant) for instant in sorted(plan.once)),
            ],
            skip=[calendar_spec(calendar) for calendar in plan.skip],
            start_at=_whole(rule.start_at) if rule.start_at else None,
            # The server fires at `end_at` itself; a rule's end is not part of it.
            end_at=_whole(rule.end_at) - timedelta(seconds=1) if rule.end_at else None,
            jitter=jitter,
            time_zone_name=rule.timezone,
            time_zone_data=definition(rule.timezone) if rule.timezone != "UTC" else b"",
        ),
        renew_at=now + (until - now) / 2 if bounded else None,
        exact_until=until if bounded else None,
        entries=plan.entries,
    )


def _fitting(rule: Rule, changes: list[Change], now: datetime, horizon: timedelta) -> tuple[datetime, Plan]:
    """The plan of the longest horizon that leaves room, and where that horizon is."""
    while True:
        until = max(now, rule.start_at or now) + horizon
        plan = Plan()
        for line in rule.lines:
            if isinstance(line, Every):
                plan.intervals.add((line.span, line.offset))
            elif not isinstance(line, At):
                plan_line(line, rule, changes, _seconds(until), plan)
                if plan.entries > MAX_ENTRIES and len(rule.lines) > 1:
                    break  # It is too long already, and only one line alone can be inverted.
        if plan.bounded and plan.entries > _FEW and len(rule.lines) == 1:
            plan = inverted(rule.lines[0], changes) or plan
        if plan.entries <= MAX_ENTRIES // 2 or not plan.bounded or horizon <= SHORTEST_HORIZON:
            return until, plan
        horizon = max(horizon / 2, SHORTEST_HORIZON)


def _changes(rule: Rule, since: datetime) -> list[Change]:
    """Every change of the zone's clock that the rule can live to see."""
    first = max(since, rule.start_at or since) - timedelta(days=2)
    end_of_time = datetime(YEARS[-1] + 1, 1, 1, tzinfo=UTC)
    last = min(rule.end_at or end_of_time, end_of_time) + timedelta(days=2)
    return list(changes_between(rule.timezone, _seconds(first), _seconds(last)))


def _compile_instants(rule: Rule, now: datetime, jitter: timedelta | None) -> Compiled:
    """A list of instants as calendars of UTC: exact, never to come round again, bounds and exclusions
    applied.
    """
    times: dict[tuple[int, int, int, int, int], int] = {}
    for instant, _ in instants(rule, now - LOOK_BACK):
        at = datetime.fromtimestamp(instant, UTC)
        if at.year not in YEARS:
            raise RuleError(f"no schedule goes beyond the year {YEARS[-1]}", path=("at",))
        key = at.year, at.month, at.hour, at.minute, at.second
        times[key] = times.get(key, 0) | 1 << at.day
    calendars = [
        calendar_spec(Calendar(_days(year, month, days), 1 << hour, 1 << minute, 1 << second))
        for (year, month, hour, minute, second), days in times.items()
    ]
    spec = ZonedScheduleSpec(calendars=calendars, jitter=jitter, time_zone_name="UTC")
    return Compiled(spec, renew_at=None, exact_until=None, entries=len(calendars))


def _excluded(exclude: Exclude, since: datetime) -> Iterator[Calendar]:
    for line in exclude.lines:
        seconds = line.seconds if line.has_seconds else EVERY_SECOND
        yield from (Calendar(row, line.hours, line.minutes, seconds) for row in rows_of(line))
    months: dict[tuple[int, int], int] = {}
    for day in sorted(exclude.dates):
        if day >= since.date() - timedelta(days=1) and day.year in YEARS:
            months[day.year, day.month] = months.get((day.year, day.month), 0) | 1 << day.day
    for (year, month), days in months.items():
        yield Calendar(_days(year, month, days), EVERY_HOUR, EVERY_MINUTE, EVERY_SECOND)


def _days(year: int, month: int, days: int) -> Row:
    return Row(days, months=1 << month, years=frozenset({year}))


def _whole(instant: datetime) -> datetime:
    """The first whole second not before `instant`: schedules know no shorter time."""
    return instant + timedelta(microseconds=-instant.microsecond % 1_000_000)


def _seconds(instant: datetime) -> int:
    return int(instant.timestamp())
