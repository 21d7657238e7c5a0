"""When a rule fires: every instant of it, in order, each once.

Daylight saving is cron(8)'s. A *fixed* rule (neither its minute nor its hour field starts with `*`) whose
wall time is skipped fires at the end of the gap, and one whose wall time comes twice fires in the first pass;
the rule's policies change both. Any other rule follows the wall clock. A change of three hours or more is a
correction of the clock: nothing is made up for and nothing held back.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import reduce
from heapq import merge
from itertools import groupby
from operator import itemgetter, or_
from typing import NamedTuple

from duetime.cron.clock import FIRST, LAST
from duetime.cron.errors import RuleError
from duetime.cron.lines import GAP, line_fires
from duetime.cron.rule import Rule
from duetime.cron.times import EXCLUDED, Instant
from duetime.cron.zones import load_zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


class Fire(NamedTuple):
    """One due time, in UTC and on the wall clock of the rule's zone."""

    utc: datetime
    local: datetime
    #: `dst_gap`: made up for a skipped wall time. `dst_repeat`: its wall time comes twice. `excluded`: does
    #: not fire, and is listed only when asked for.
    tags: tuple[str, ...] = ()


def fires(
    rule: Rule,
    after: datetime,
    until: datetime | None = None,
    *,
    inclusive: bool = False,
    with_excluded: bool = False,
) -> Iterator[Fire]:
    """The due times later than `after` and not later than `until`, ascending; without `until`, without end.

    Consecutive spans thus neither miss nor repeat one; `inclusive` lets `after` itself be due.
    `with_excluded` lists the excluded ones too, tagged. Ends when no due time comes for a hundred years, and
    at the year 9998. Both instants need an offset from UTC (`ValueError`).
    """
    after = after - _SECOND if inclusive and not after.microsecond else after
    zone = load_zone(rule.timezone)
    for instant, flags in instants(rule, after, until, with_excluded=with_excluded):
        local = datetime.fromtimestamp(instant, zone)
        yield Fire(datetime.fromtimestamp(instant, UTC), local, _tags(local, flags))


def next_fire(rule: Rule, after: datetime) -> Fire | None:
    """The first due time later than `after`, or `None` when there is none within a hundred years."""
    return next(fires(rule, after), None)


def check_fires(rule: Rule, after: datetime) -> None:
    """Raise `RuleError` when the bounds and exclusions of the rule leave no due time later than `after`."""
    if next_fire(rule, after) is None:
        raise RuleError(
            "the rule never fires",
            hint="look at 'start_at', 'end_at', 'exclude' and, for 'at', whether all is past",
        )


def instants(
    rule: Rule, after: datetime, until: datetime | None = None, *, with_excluded: bool = False
) -> Iterator[Instant]:
    """What `fires` is made of: `(seconds since the Unix epoch, flags)`, for those who count."""
    first, last = max(FIRST, _floor(after) + 1), LAST
    if until is not None:
        last = min(last, _floor(until))
    if rule.start_at is not None:
        first = max(first, _ceil(rule.start_at))
    if rule.end_at is not None:
        last = min(last, _ceil(rule.end_at) - 1)
    if first > last:
        return
    lines = [line_fires(line, rule, first, last, with_excluded) for line in rule.lines]
    for instant, group in groupby(merge(*lines), key=itemgetter(0)):
        flags = [flag for _, flag in group]
        # A time made up for excluded ones may be one that another line names.
        firing = [flag for flag in flags if not flag & EXCLUDED] or flags
        yield instant, reduce(or_, firing)


def _tags(local: datetime, flags: int) -> tuple[str, ...]:
    # A wall time that exists comes twice exactly when its two folds have different offsets.
    repeated = local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
    said = (("dst_gap", flags & GAP), ("dst_repeat", repeated), ("excluded", flags & EXCLUDED))
    return tuple(tag for tag, applies in said if applies)


def _floor(instant: datetime) -> int:
    if instant.tzinfo is None:
        raise ValueError("an instant needs an offset from UTC")
    return (instant - _EPOCH) // _SECOND


def _ceil(instant: datetime) -> int:
    return -((_EPOCH - instant) // _SECOND)
