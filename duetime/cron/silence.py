"""How long the server would search in vain between two fires.

It finds the next time by trying one candidate after the other until none of the skipped calendars matches,
and gives up after 1,209,600 (dynamic setting `scheduler.specMaxIterations`): such a schedule would stop
without a word.
"""

from datetime import UTC, datetime, timedelta

from duetime.cron.clock import DAY
from duetime.cron.errors import RuleError
from duetime.cron.every import Every
from duetime.cron.rule import At, Rule
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
    walls = [Times(line, rule.exclude) for line in rule.lines if not isinstance(line, Every | At)]
    spans = sum(DAY // line.span + 1 for line in rule.lines if isinstance(line, Every))
    # Too few a day to matter need no looking.
    if (sum(len(times.all) for times in walls) + spans + a_day) * (last - first).days < _MOST:
        return
    in_vain = 0
    for day in range(_day(first), _day(last) + 1):
        candidates = max(spans + sum(times.named_on(day) for times in walls), a_day)
        in_vain += candidates
        if in_vain > _MOST:
            raise RuleError(
                "the exclusions silence the rule for longer than the server can search",
                hint="leave those times out of the rule itself, or fire less often",
                path=("exclude",),
            )
        if any(times.fires_on(day) for times in walls) or (spans and not rule.exclude.on(day).whole):
            in_vain = candidates


def _day(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)).days
