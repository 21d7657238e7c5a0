"""How many runs all schedules together will start in each minute, and what would spread them. Pure.

A start with random jitter is spread evenly over its jitter, or up to the next start if that comes first, as the server
does; it counts in parts. All others are where they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, pairwise

from duetime.contracts.job import spread_offset
from duetime.cron import At, Cron, Every, EveryDays, Rule
from duetime.cron.fires import instants
from duetime.cron.rule import Line
from duetime.schedules.flatter import hashed

#: More starts than this are not computed: it would take seconds.
MOST_STARTS = 1_000_000
#: Peaks told, and schedules named for each.
PEAKS = 10
NAMED = 20
#: Changes that leave more of the fullest minute than this are not told.
_WORTH_IT = 0.75
#: The jitter to try where no `H` can help, at the most.
_JITTER = timedelta(hours=1)


class TooMany(ValueError):
    """More than `MOST_STARTS` starts."""


@dataclass(frozen=True)
class Planned:
    """What one schedule will start, and how."""

    id: str
    rule: Rule
    jitter: timedelta = timedelta(0)
    #: Each time by the same offset, chosen by the id.
    is_stable: bool = False
    #: Nothing starts before; `None` when it is not paused.
    paused_until: datetime | None = None
    runs_left: int | None = None
    left_out: frozenset[datetime] = frozenset()


@dataclass(frozen=True)
class Peak:
    """A minute, counted from the beginning of the forecast."""

    minute: int
    starts: float
    share: float
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """`line` as it is written, and the line or the jitter that would spread it."""

    line: str
    cron: str | None
    jitter: timedelta | None
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """Starts in each minute from `start` on."""

    start: datetime
    minutes: list[float]
    peaks: list[Peak] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    #: The fullest minute after all `changes`.
    flatter: Peak | None = None


def forecast(plans: Sequence[Planned], start: datetime, hours: int) -> Forecast:
    """The starts of `plans` in whole minutes from that of `start` on. `TooMany` for more than can be counted."""
    start = start.astimezone(UTC).replace(second=0, microsecond=0)
    count = _Count(start, hours)
    by_plan = [count.add(plan) for plan in plans]
    minutes = count.minutes
    fullest = sorted(range(len(minutes)), key=lambda minute: (-minutes[minute], minute))[:PEAKS]
    fullest = [minute for minute in fullest if minutes[minute] > 0]
    peaks = [_peak(start, minutes, minute, plans, by_plan) for minute in fullest]
    found = Forecast(start, minutes, peaks)
    in_peaks = [
        plan
        for plan, starts in zip(plans, by_plan, strict=True)
        if any(minute in starts for minute in fullest)
    ]
    if not peaks or len(in_peaks) < 2:
        return found
    return _flattened(found, plans, in_peaks, hours)


def _flattened(
    found: Forecast, plans: Sequence[Planned], in_peaks: Iterable[Planned], hours: int
) -> Forecast:
    """`found` with the changes that would lower its peaks."""
    instead = {plan.id: change for plan in in_peaks if (change := _spread(plan, found.start)) is not None}
    count = _Count(found.start, hours)
    for plan in plans:
        count.add(instead[plan.id][0] if plan.id in instead else plan)
    minutes = count.minutes
    fullest = max(range(len(minutes)), key=minutes.__getitem__)
    if minutes[fullest] > _WORTH_IT * found.peaks[0].starts:
        return found
    grouped: dict[Change, list[str]] = defaultdict(list)
    for plan_id, (_, changes) in instead.items():
        for told_once in changes:
            grouped[told_once].append(plan_id)
    told = [replace(one, of=tuple(ids)) for one, ids in grouped.items()]
    told.sort(key=lambda one: (-len(one.of), one.line))
    return replace(found, changes=told, flatter=_peak(found.start, minutes, fullest))


def _peak(
    start: datetime,
    minutes: list[float],
    minute: int,
    plans: Sequence[Planned] = (),
    by_plan: Sequence[dict[int, float]] = (),
) -> Peak:
    hour = minute - (start.minute + minute) % 60
    hour = max(0, min(hour, len(minutes) - 60))  # the first and the last may be seen in part only
    share = minutes[minute] / (sum(minutes[hour : hour + 60]) or 1)
    of = [(starts[minute], plan.id) for plan, starts in zip(plans, by_plan, strict=True) if minute in starts]
    return Peak(minute, minutes[minute], share, tuple(plan_id for _, plan_id in sorted(of, key=_most_first)))


def _most_first(item: tuple[float, str]) -> tuple[float, str]:
    return -item[0], item[1]


def _spread(plan: Planned, start: datetime) -> tuple[Planned, list[Change]] | None:
    """The plan as it could be, and what to change; `None` when it is spread already or cannot be."""
    if plan.jitter:
        return None
    changed = [hashed(line, plan.id) if isinstance(line, Cron) else None for line in plan.rule.lines]
    if any(changed):
        lines = tuple(new or old for old, new in zip(plan.rule.lines, changed, strict=True))
        changes = [
            Change(old.text, new.text, None)
            for old, new in zip(plan.rule.lines, changed, strict=True)
            if new is not None and isinstance(old, Cron)
        ]
        return replace(plan, rule=replace(plan.rule, lines=lines)), changes
    jitter = min(_JITTER, _shortest(plan.rule, start))
    if jitter < timedelta(minutes=2):
        return None
    said = ", ".join(map(_text, plan.rule.lines))
    return replace(plan, jitter=jitter, is_stable=True), [Change(said, None, jitter)]


def _shortest(rule: Rule, start: datetime) -> timedelta:
    """The shortest of the next hundred waits between two starts."""
    times = (at for at, _ in islice(instants(rule, start), 100))
    return timedelta(seconds=min((right - left for left, right in pairwise(times)), default=3_600))


def _text(line: Line) -> str:
    match line:
        case Cron() | EveryDays() | Every():
            return line.text
        case At():
            return "at"


class _Count:
    """Starts by the minute. Schedules that say the same are computed once."""

    def __init__(self, start: datetime, hours: int) -> None:
        self._start, self._end = start, start + timedelta(hours=hours)
        self._first, self._length = int(start.timestamp()), hours * 3_600
        self.minutes = [0.0] * (hours * 60)
        self._known: dict[Planned, dict[int, float]] = {}
        self._counted = 0

    def add(self, plan: Planned) -> dict[int, float]:
        """Count the starts of `plan`; in which minutes they are, and how many."""
        same = plan if plan.is_stable else replace(plan, id="")
        found = self._known.get(same)
        if found is None:
            found = defaultdict(float)
            starts = self._spread(plan) if plan.jitter and not plan.is_stable else self._whole(plan)
            for minute, part in starts:
                found[minute] += part
            self._known[same] = found
        for minute, part in found.items():
            self.minutes[minute] += part
        return found

    def _whole(self, plan: Planned) -> Iterator[tuple[int, float]]:
        offset = int(spread_offset(plan.id, plan.jitter).total_seconds())
        for at in self._times(plan, timedelta(seconds=offset)):
            second = at + offset - self._first
            if 0 <= second < self._length:
                yield second // 60, 1.0

    def _spread(self, plan: Planned) -> Iterator[tuple[int, float]]:
        jitter = int(plan.jitter.total_seconds())
        for at, following in pairwise(chain(self._times(plan, plan.jitter), [None])):
            assert at is not None
            length = max(1, min(jitter, following - at) if following is not None else jitter)
            low, high = max(0, at - self._first), min(self._length, at - self._first + length)
            for minute in range(low // 60, -(-high // 60)):
                yield minute, (min(high, minute * 60 + 60) - max(low, minute * 60)) / length

    def _times(self, plan: Planned, before: timedelta) -> Iterator[int]:
        """The due times that may start within the span, those up to `before` earlier included."""
        after = max(self._start - before, plan.paused_until or self._start - before)
        left_out = {int(at.timestamp()) for at in plan.left_out}
        last = self._end - timedelta(seconds=1)
        due = (at for at, _ in instants(plan.rule, after - timedelta(microseconds=1), last))
        for at in islice((at for at in due if at not in left_out), plan.runs_left):
            self._counted += 1
            if self._counted > MOST_STARTS:
                raise TooMany(f"more than {MOST_STARTS:,} starts")
            yield at
