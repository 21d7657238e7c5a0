"""The due times of one line of a rule, as `(instant, flags)` in order."""

from collections.abc import Iterator
from typing import assert_never

from duetime.cron.clock import DAY, Change, Stretch, offset_at, stretches
from duetime.cron.cron import Cron
from duetime.cron.every import Every, EveryDays
from duetime.cron.exclude import Exclude
from duetime.cron.rule import At, Line, Rule
from duetime.cron.spans import Spans
from duetime.cron.times import EXCLUDED, Instant, Times, WallLine

#: Made up for a skipped wall time.
GAP = 1

#: A search that finds nothing for this long has found its end: 40 years is the longest wait there is without
#: exclusions (a 29 February on one weekday, across a century without a leap day).
_CENTURY = 36_525 * DAY


def line_fires(line: Line, rule: Rule, first: int, last: int, with_excluded: bool) -> Iterator[Instant]:
    """The due times of `line` from `first` to `last`, both included."""
    match line:
        case At():
            return _at(line, rule, first, last, with_excluded)
        case Every():
            return _spans(line, rule, first, last, with_excluded)
        case Cron() | EveryDays():
            return wall_fires(line, rule, first, last, with_excluded)
        case _:
            assert_never(line)


def _at(line: At, rule: Rule, first: int, last: int, with_excluded: bool) -> Iterator[Instant]:
    for instant in line.instants:
        if first <= instant <= last:
            excluded = bool(rule.exclude) and rule.exclude.covers(instant + offset_at(rule.timezone, instant))
            if with_excluded or not excluded:
                yield instant, EXCLUDED * excluded


def _spans(line: Every, rule: Rule, first: int, last: int, with_excluded: bool) -> Iterator[Instant]:
    if not rule.exclude:
        start = first + (line.offset - first) % line.span
        yield from ((instant, 0) for instant in range(start, last + 1, line.span))
        return
    spans = Spans(line, rule.exclude)
    fired = first
    for stretch in stretches(rule.timezone, first):
        if stretch.start > last or stretch.start - fired > _CENTURY:
            return
        low = max(first, stretch.start) + stretch.offset
        high = min(last + 1, stretch.end) + stretch.offset
        for wall, flags in spans.between(low, high, stretch.offset, with_excluded):
            fired = wall - stretch.offset
            yield fired, flags


def wall_fires(line: WallLine, rule: Rule, first: int, last: int, with_excluded: bool) -> Iterator[Instant]:
    """The due times of a line that names wall-clock times, by the rule's daylight-saving policy."""
    times = Times(line, rule.exclude)
    fired = first
    for stretch in stretches(rule.timezone, first):
        if stretch.start > last or stretch.start - fired > _CENTURY:
            return
        low = max(first, stretch.start) + stretch.offset
        high = min(last + 1, stretch.end) + stretch.offset
        if not line.follows_clock:
            if rule.gap == "after" and stretch.opened and first <= stretch.opened.at:
                yield from _made_up(times, stretch.opened, rule.exclude, with_excluded)
            low, high = _one_pass(stretch, rule, low, high)
        for wall, flags in times.between(low, high, with_excluded):
            fired = wall - stretch.offset
            yield fired, flags


def _made_up(times: Times, change: Change, exclude: Exclude, with_excluded: bool) -> Iterator[Instant]:
    """The one due time right after a gap that stands for all the times the gap skipped."""
    if change.jump <= 0 or change.is_correction:
        return
    skipped = (change.at + change.before, change.at + change.after)
    fires = any(times.between(*skipped, with_excluded=False)) and not exclude.covers(skipped[1])
    if fires:
        yield change.at, GAP
    elif with_excluded and any(times.between(*skipped, with_excluded=True)):
        yield change.at, GAP | EXCLUDED


def _one_pass(stretch: Stretch, rule: Rule, low: int, high: int) -> tuple[int, int]:
    """The wall seconds of a stretch without the pass of a repeat that the policy leaves out."""
    opened, closed = stretch.opened, stretch.closed
    if rule.overlap == "first" and opened and opened.jump < 0 and not opened.is_correction:
        low = max(low, opened.at + opened.before)
    if rule.overlap == "last" and closed and closed.jump < 0 and not closed.is_correction:
        high = min(high, closed.at + closed.after)
    return low, high
