"""How long the server would search in vain between two fires.

It finds the next time by trying one candidate after the other until none of the skipped calendars matches,
and gives up after 1,209,600 (dynamic setting `scheduler.specMaxIterations`): such a schedule would stop
without a word.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import reduce
from operator import or_

from duetime.cron.clock import offset_at
from duetime.cron.cron import Cron, month_length
from duetime.cron.errors import RuleError
from duetime.cron.every import Every, EveryDays
from duetime.cron.exclude import EPOCH
from duetime.cron.rule import Rule
from duetime.cron.spans import Spans
from duetime.cron.times import Times

#: The most candidates in a row that may be in vain.
_MOST = 1_000_000
#: No rule is silent for longer unless its exclusions make it so.
_LOOK_AHEAD = timedelta(days=41 * 366)


def check_silence(rule: Rule, since: datetime, a_day: int = 0) -> None:
    """`RuleError` if the exclusions of `rule` silence it for too long; `a_day` are candidates beside the
    lines' own.
    """
    first = max(since, rule.start_at or since)
    last = min(first + _LOOK_AHEAD, rule.end_at or first + _LOOK_AHEAD)
    walls = [Times(line, rule.exclude) for line in rule.lines if isinstance(line, Cron | EveryDays)]
    spans = [Spans(line, rule.exclude) for line in rule.lines if isinstance(line, Every)]
    of_spans = sum(span.a_day for span in spans)
    # Too few a day to matter need no looking.
    if (sum(times.a_day for times in walls) + of_spans + a_day) * (last - first).days < _MOST:
        return
    in_vain = 0
    offset = offset_at(rule.timezone, int(first.timestamp()))
    for on, named, is_open in _days(walls, first.date(), last.date()):
        candidates = max(of_spans + named, a_day)
        in_vain += candidates
        if in_vain > _MOST:
            raise RuleError(
                "the exclusions silence the rule for longer than the server can search",
                hint="leave those times out of the rule itself, or fire less often",
                path=("exclude",),
            )
        if (is_open and on not in rule.exclude.dates) or any(
            span.fires_on(on.toordinal() - EPOCH, offset) for span in spans
        ):
            in_vain = candidates


def _days(walls: list[Times], first: date, last: date) -> Iterator[tuple[date, int, bool]]:
    """Each day, how many times the lines name on it, and whether excluded lines leave some of them."""
    on = first
    while on <= last:
        named = [(times.a_day, times.named_in(on.year, on.month)) for times in walls]
        is_open = reduce(or_, (times.open_in(on.year, on.month) for times in walls), 0)
        for day in range(on.day, month_length(on.year, on.month) + 1):
            count = sum(a_day for a_day, days in named if days >> day & 1)
            yield on.replace(day=day), count, bool(is_open >> day & 1)
        on = date(on.year + on.month // 12, on.month % 12 + 1, 1)
