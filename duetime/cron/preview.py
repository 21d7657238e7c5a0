"""The next due times of a rule with what is left out between them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from itertools import islice

from duetime.cron.fires import Fire, fires
from duetime.cron.rule import Rule

#: The engine fires nothing later: its calendars know the years 2000 to 2100, on the wall clock and in UTC.
LAST_YEAR = 2100
_LAST = datetime(LAST_YEAR, 12, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True)
class Preview:
    """`ends` says that nothing is due after the last fire."""

    fires: tuple[Fire, ...]
    ends: bool
    warnings: tuple[str, ...] = ()


def preview_rule(rule: Rule, start: datetime, count: int, most_excluded: int) -> Preview:
    """The next `count` due times of `rule` from `start` on, itself included, up to the last year of the engine.

    At most `most_excluded` excluded times between them are listed too, tagged.
    """
    ahead = (fire for fire in fires(rule, start, _LAST, inclusive=True) if fire.local.year <= LAST_YEAR)
    due = list(islice(ahead, count + 1))
    listed, ends = due[:count], len(due) <= count
    warnings: list[str] = []
    if ends and next(fires(rule, max(start, _LAST)), None):
        warnings.append(f"nothing fires after the year {LAST_YEAR}, where the engine's calendar ends")
    if not listed:
        return Preview((), ends, tuple(warnings))
    between = fires(rule, start, listed[-1].utc, inclusive=True, with_excluded=True)
    excluded = list(islice((fire for fire in between if "excluded" in fire.tags), most_excluded + 1))
    if len(excluded) > most_excluded:
        warnings.append(f"of the excluded times only the first {most_excluded:,} are listed")
    return Preview(tuple(merge(listed, excluded[:most_excluded])), ends, tuple(warnings))
