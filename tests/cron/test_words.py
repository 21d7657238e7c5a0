"""A rule in plain English."""

from collections import defaultdict
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from duetime.cron import Cron, CronError, in_words, parse, read_rule
from duetime.cron.words import cron_in_words


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 2 * * MON-FRI", "At 02:00 on Monday to Friday"),
        ("30 8,20 * * *", "At 08:30 and 20:30 every day"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes of the hours 09 to 17 on Monday to Friday"),
        ("0 * * * *", "At minute 0 of every hour"),
        ("* * * * *", "Every minute"),
        ("* */4 * * *", "Every minute of the hours 00, 04, 08, 12, 16 and 20 every day"),
        ("*/7 * * * *", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("*/90 * * * *", "At minute 0 of every hour"),
        ("1-20,40 * * * *", "At minutes 1 to 20 and 40 of every hour"),
        # Seconds.
        ("* * * * * *", "Every second"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("*/10 30 * * * *", "Every 10 seconds of minute 30 of every hour"),
        ("7 * * * * *", "At second 7 of every minute"),
        ("15 30 2 * * *", "At 02:30:15 every day"),
        # Days.
        ("0 0 1 * *", "At 00:00 on day 1 of the month"),
        ("0 0 31 12 *", "At 00:00 on day 31 of the month in December"),
        ("0 0 * * 6,7", "At 00:00 on Saturday and Sunday"),
        ("0 0 13 * 5", "At 00:00 on day 13 of the month or on Friday"),
        ("0 0 1-7 * */7", "At 00:00 on days 1 to 7 of the month if that is Sunday"),
        ("0 0 1-31 * 5", "At 00:00 every day"),
        ("0 0 L * *", "At 00:00 on the last day of the month"),
        (
            "0 0 L-1,L-3 * *",
            "At 00:00 on 1 day before the last day and 3 days before the last day of the month",
        ),
        ("0 0 15W * *", "At 00:00 on the weekday (Monday to Friday) nearest to day 15 of the month"),
        ("0 0 LW * *", "At 00:00 on the last weekday (Monday to Friday) of the month"),
        ("0 0 * * FRI#2", "At 00:00 on the second Friday of the month"),
        ("0 0 * * 5L", "At 00:00 on the last Friday of the month"),
        ("* * * 2 5", "Every minute on Friday in February"),
        ("0 12 1 */3 *", "At 12:00 on day 1 of the month in January, April, July and October"),
        ("@weekly", "At 00:00 on Sunday"),
    ],
)
def test_cron_lines(cron: str, words: str) -> None:
    assert in_words(read_rule(cron=cron)) == f"{words}, UTC"


def test_a_hash_is_told_as_the_time_it_chose() -> None:
    line = parse("H 2 * * *", "nightly-report")
    assert isinstance(line, Cron)
    assert cron_in_words(line) == f"at 02:{line.times[0] // 60 % 60:02} every day"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"cron": ["@daily", "@every 90s"], "timezone": "Europe/Paris"},
         "At 00:00 every day; and every 1 minute and 30 seconds, Europe/Paris time"),
        ({"every": "90m"}, "Every 1 hour and 30 minutes"),
        ({"every": "90m", "offset": "5m"}, "Every 1 hour and 30 minutes counted from 1970-01-01 00:05 UTC"),
        ({"every": "7d", "offset": "5d16h", "timezone": "Europe/Paris"}, "At 16:00 on Tuesday, Europe/Paris time"),
        ({"every": "1d", "timezone": "Asia/Tokyo"}, "At 00:00 every day, Asia/Tokyo time"),
        ({"every": "3d", "offset": "1d", "timezone": "UTC"}, "At 00:00 every 3 days counted from 1970-01-02, UTC"),
        ({"at": [datetime(2027, 1, 15, 9, tzinfo=UTC), datetime(2027, 1, 16, 9, 0, 1, tzinfo=UTC)]},
         "At 2027-01-15 09:00 UTC and 2027-01-16 09:00:01 UTC"),
        ({"at": [datetime(2027, 1, day, tzinfo=UTC) for day in range(1, 9)]},
         "At 8 instants from 2027-01-01 00:00 UTC to 2027-01-08 00:00 UTC"),
        ({"cron": "@daily", "exclude": ["2026-12-26", "2026-12-25", {"cron": "* * * 8 *"}]},
         "At 00:00 every day, UTC, except on 2026-12-25 and 2026-12-26 and every minute in August"),
        ({"cron": "@daily", "exclude": [f"2026-12-{day}" for day in range(20, 27)]},
         "At 00:00 every day, UTC, except on 7 dates from 2026-12-20 to 2026-12-26"),
        ({"cron": "@daily", "start_at": datetime(2027, 1, 1, tzinfo=UTC), "end_at": datetime(2028, 1, 1, tzinfo=UTC)},
         "At 00:00 every day, UTC, from 2027-01-01 00:00 UTC on, before 2028-01-01 00:00 UTC"),
    ],
)  # fmt: skip
def test_whole_rules(rule: dict[str, Any], words: str) -> None:
    assert in_words(read_rule(**rule)) == words


def _meaning(line: Cron) -> tuple[object, ...]:
    table = tuple(line.days.in_month(length, first) for length in range(28, 32) for first in range(7))
    return line.seconds, line.minutes, line.hours, line.months, table


def test_equal_words_mean_equal_times() -> None:
    fields = (
        ("0", "*", "*/2", "0-58/2", "1,3", "*/30", "0,30"),
        ("*", "0", "0-23", "*/2", "3-5"),
        ("*", "1", "*/2", "1-31", "L", "L-1", "1W", "LW", "1,L", "1-31/2"),
        ("*", "1", "2-12"),
        ("*", "1", "1-7", "*/7", "0", "1L", "1#1", "1,1#1", "0-6"),
    )
    meanings: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    lines = 0
    for chosen in product(*fields):
        try:
            line = parse(" ".join(chosen))
        except CronError:  # a working day that is a Sunday never comes
            continue
        assert isinstance(line, Cron)
        meanings[cron_in_words(line)].add(_meaning(line))
        lines += 1
    assert len(meanings) < lines / 2, "the same times were written in several ways"
    assert [words for words, same in meanings.items() if len(same) > 1] == []
