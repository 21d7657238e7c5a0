"""The dialect: what each line means, and what a line that cannot be read is told."""

import re

import pytest

from duetime.cron import Cron, CronError, Every, parse
from duetime.cron.bits import from_bits
from duetime.cron.parse import MAX_LENGTH


def read(text: str, schedule_id: str | None = None) -> Cron:
    line = parse(text, schedule_id)
    assert isinstance(line, Cron)
    return line


def refused(text: str) -> CronError:
    with pytest.raises(CronError) as caught:
        parse(text)
    return caught.value


def values(bits: int) -> list[int]:
    return list(from_bits(bits))


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        ("*", list(range(60))),
        ("7", [7]),
        ("05", [5]),
        ("1-59/3", list(range(1, 60, 3))),
        ("*/40", [0, 40]),
        ("*/59", [0, 59]),
        ("*/90", [0]),
        ("0-59/60", [0]),
        ("5/15", [5, 20, 35, 50]),
        ("10,5,5-7", [5, 6, 7, 10]),
        ("*/20,1", [0, 1, 20, 40]),
    ],
)
def test_minutes(minute: str, expected: list[int]) -> None:
    line = read(f"{minute} * * * *")
    assert values(line.minutes) == expected
    assert values(line.seconds) == [0]


@pytest.mark.parametrize(
    ("weekday", "expected"),
    [
        ("7", [0]),
        ("6-7", [0, 6]),
        ("5-7", [0, 5, 6]),
        ("0-7", [0, 1, 2, 3, 4, 5, 6]),
        ("1-7/2", [0, 1, 3, 5]),
        ("SAT-SUN", [0, 6]),
        ("6-0", [0, 6]),
        ("SUN-MON", [0, 1]),
        ("Mon-fri", [1, 2, 3, 4, 5]),
        ("sunday,Wednesday", [0, 3]),
        ("*/2", [0, 2, 4, 6]),
    ],
)
def test_weekdays_fold_seven_onto_sunday_after_the_range(weekday: str, expected: list[int]) -> None:
    assert values(read(f"0 0 * * {weekday}").days.weekdays.plain) == expected


def test_names_of_months() -> None:
    assert values(read("0 0 1 jAn,MARCH,oct-DEC *").months) == [1, 3, 10, 11, 12]


def test_blanks_and_comments_are_not_part_of_the_rule_and_the_text_is_kept() -> None:
    text = " \t0  5\t* * 1 # every Monday, at five: naïvely\r\n"
    line = read(text)
    assert line.text == text
    assert (values(line.hours), values(line.days.weekdays.plain)) == ([5], [1])


@pytest.mark.parametrize(
    ("nickname", "fields"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@DAILY", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_nicknames(nickname: str, fields: str) -> None:
    ours, theirs = read(nickname), read(fields)
    assert ours.text == nickname
    assert (ours.times, ours.months, ours.days, ours.follows_clock) == (
        theirs.times,
        theirs.months,
        theirs.days,
        theirs.follows_clock,
    )


def test_every_is_an_interval() -> None:
    assert parse("@every 90m") == Every("@every 90m", 5_400)
    assert parse("@every 1h30m") == Every("@every 1h30m", 5_400)
    assert parse("@every 2d") == Every("@every 2d", 172_800, in_days=True)


def test_six_fields_have_the_second_first() -> None:
    line = read("30 15 10 * * *")
    assert line.times == (10 * 3600 + 15 * 60 + 30,)
    assert line.has_seconds
    assert len(read("* * * * * *").times) == 86_400


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("*/15 2 * * *", True),
        ("0 */2 * * *", True),
        ("*,5 2 * * *", True),
        ("0 0-23 * * *", False),
        ("0-59 2 * * *", False),
        ("30 2 * * *", False),
        ("* 30 2 * * *", False),
        ("@hourly", True),
        ("@daily", False),
    ],
)
def test_a_star_in_the_minute_or_hour_makes_a_rule_of_the_wall_clock(text: str, follows: bool) -> None:
    assert read(text).follows_clock is follows


@pytest.mark.parametrize(
    ("text", "column", "token", "way_out"),
    [
        # Backwards ranges are refused, never swapped, wrapped or emptied in silence.
        ("0 22-2 * * *", 3, "22-2", "'22-23,0-2'"),
        ("0 5-0 * * *", 3, "5-0", "'5-23,0'"),
        ("50-10 * * * *", 1, "50-10", "'50-59,0-10'"),
        ("0 0 * * FRI-MON", 9, "FRI-MON", "'5-6,0-1'"),
        ("0 0 * * 7-1", 9, "7-1", "'0-1'"),
        ("0 0 1 NOV-FEB *", 7, "NOV-FEB", "'11-12,1-2'"),
        ("0 22-4/2 * * *", 3, "22-4", "'22,0,2,4'"),
        # Out of range.
        ("60 * * * *", 1, "60", None),
        ("0 24 * * *", 3, "24", "midnight is hour 0"),
        ("0 30 * * *", 3, "30", None),
        ("0 0 0 * *", 5, "0", None),
        ("0 0 32 * *", 5, "32", None),
        ("0 0 1 13 *", 7, "13", None),
        ("0 0 * * 8", 9, "8", None),
        ("1,2,99 * * * *", 5, "99", None),
        # Steps.
        ("*/0 * * * *", 3, "0", "from 1 up"),
        ("*/-5 * * * *", 3, "-5", "from 1 up"),
        ("*/5/2 * * * *", 3, "5/2", "write one"),
        ("*/ * * * *", 3, "", "from 1 up"),
        # Names.
        ("0 0 * * Mo", 9, "Mo", "MON"),
        ("0 0 * * Thurs", 9, "Thurs", "THU"),
        ("0 0 * * marsday", 9, "marsday", "SUN"),
        ("0 0 * MON *", 7, "MON", "day of week"),
        ("0 0 1 Sept *", 7, "Sept", "SEP"),
        # Other dialects.
        ("0 0 ? * *", 5, "?", "write '*'"),
        ("0 0 * * L", 9, "L", "'5L'"),
        ("0 0 * * L5", 9, "L5", "'5L'"),
        ("0 0 * * FRI#6", 9, "FRI#6", "'#5'"),
        ("0 0 * * 1-5#2", 9, "1-5#2", "one weekday"),
        ("0 0 5#2 * *", 5, "5#2", "day of week"),
        ("0 0 W * *", 5, "W", "'15W'"),
        ("0 0 1-5W * *", 5, "1-5W", "'15W'"),
        ("0 0 L-31 * *", 5, "L-31", None),
        ("0~30 * * * *", 1, "0~30", "'H'"),
        ("0 0 12 ? * MON-FRI", 8, "?", "write '*'"),
        ("0 12 * * * 2027", 12, "2027", "'start_at'"),
        ("0 0 0 1 1 ? 2027", 13, "2027", "second first"),
        ("TZ=Asia/Tokyo 0 9 * * *", 1, "TZ=Asia/Tokyo", "'timezone' to 'Asia/Tokyo'"),
        ("CRON_TZ=UTC 0 9 * * *", 1, "CRON_TZ=UTC", "'timezone'"),
        # Nicknames.
        ("@reboot", 1, "@reboot", "submit a job"),
        ("  @fortnightly", 3, "@fortnightly", "@weekly"),
        ("@daily /bin/true", 8, "/bin/true", "without a command"),
        ("@every", 1, "@every", "@every 90m"),
        ("@every soon", 8, "soon", "@every 90m"),
        ("@every 0s", 8, "0s", "@every 90m"),
        # The shape of the line.
        ("0 0 * *", 7, "*", "five fields"),
        ("1,,2 * * * *", 3, "", "extra comma"),
        ("1, * * * *", 3, "", "extra comma"),
        ("- * * * *", 1, "", "missing"),
        ("0 0 * * *\n0 1 * * *", 10, "\n", None),
        ("0 0 \u00a0 * *", 5, "\u00a0", None),
        ("\u0663 * * * *", 1, "\u0663", None),
        ("0 0 * * \x00", 9, "\x00", None),
        # Never.
        ("0 0 30 2 *", 5, "30", "'L'"),
        ("0 0 31 2 *", 5, "31", "'L'"),
        ("0 0 31 4,6,9,11 *", 5, "31", "'L'"),
        ("0 0 30 2 */2", 5, "30", "'L'"),
        ("0 0 30W 2 *", 5, "30W", "'L'"),
        ("0 0 L-29 2 *", 5, "L-29", "'L'"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_column_its_token_and_the_way_out(
    text: str, column: int, token: str, way_out: str | None
) -> None:
    error = refused(text)
    assert (error.column, error.token) == (column, token)
    assert text[column - 1 :].lower().startswith(token.lower())
    assert f"column {column}" in str(error)
    if way_out:
        assert way_out in error.hint


@pytest.mark.parametrize("text", ["", "   ", "# nothing but a comment"])
def test_an_empty_line(text: str) -> None:
    assert refused(text).reason == "empty"


def test_long_lines_are_refused_before_they_are_read() -> None:
    assert str(MAX_LENGTH) in refused(",".join(["1"] * 20_000) + " * * * *").reason
    longest = "0 0 * * *".ljust(MAX_LENGTH)
    assert parse(longest)
    assert refused(longest + " ").column is None


def test_only_text_is_a_line() -> None:
    with pytest.raises(CronError):
        parse(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("*/90 * * * *", r"'\*/90' names only 0.*every: '90m'"),
        ("0-59/60 * * * *", r"names only 0"),
        ("*/40 * * * *", r"\(0, 40\): the last gap is 20, not 40"),
        ("0 */5 * * *", r"the last gap is 4, not 5"),
        ("5/15 * * * *", r"read as '5-59/15': 5, 20, 35, 50"),
        ("* */4 * * *", r"every minute of the hours '\*/4'"),
        ("* */1 * * *", r"every minute"),
        ("* 2 * * *", r"every minute of the hours '2'"),
        ("* * * * * *", r"fires every second"),
        ("0 2 * * * *", r"minute 2 of every hour"),
        ("0 0 31 * *", r"without day 31.*'L'"),
        ("0 0 29 2 *", r"leap years"),
        ("0 0 13 * 5", r"either"),
        ("0 12 */2 * 1", r"both"),
    ],
)
def test_what_is_most_likely_not_meant_is_said(text: str, warning: str) -> None:
    said = read(text).warnings
    assert len(said) == 1
    assert re.search(warning, said[0])


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "*/5 * * * *", "0 2 * * MON-FRI", "* 9-17 * * 1-5", "0 0 L * *", "0 9 28-31 * *",
     "0 0 1 1 *", "0 0 2 * * *", "*/10 * * * * *", "0 0 15W * *", "@daily", "0 0 */5 * *", "0 12 * * 5L"],
)  # fmt: skip
def test_plain_lines_raise_no_warning(text: str) -> None:
    assert read(text).warnings == ()
