"""A rule in plain English, from what was read, not from how it was written: equal words mean equal times."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from duetime.cron.bits import from_bits
from duetime.cron.cron import EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH, EVERY_SECOND, Cron
from duetime.cron.days import Dates, Days, Weekdays
from duetime.cron.every import DAY, Every, EveryDays
from duetime.cron.exclude import Exclude
from duetime.cron.fields import DAY_NAMES, MONTH_NAMES
from duetime.cron.rule import At, Line, Rule

#: As many times of day, instants or dates are spelled out.
_FEW = 6
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_UNITS = ((7 * DAY, "week"), (DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def in_words(rule: Rule) -> str:
    """`At 02:00 on Monday to Friday, America/New_York time`."""
    text = "; and ".join(_line(line) for line in rule.lines)
    if any(isinstance(line, Cron | EveryDays) for line in rule.lines):
        text += ", UTC" if rule.timezone == "UTC" else f", {rule.timezone} time"
    if rule.exclude:
        text += f", except {_excluded(rule.exclude)}"
    if rule.start_at:
        text += f", from {_instant(rule.start_at)} on"
    if rule.end_at:
        text += f", before {_instant(rule.end_at)}"
    return text[0].upper() + text[1:]


def _line(line: Line) -> str:
    match line:
        case Cron():
            return cron_in_words(line)
        case Every():
            anchor = (
                f" counted from {_instant(datetime.fromtimestamp(line.offset, UTC))}" if line.offset else ""
            )
            return f"every {_span(line.span)}{anchor}"
        case EveryDays():
            return _every_days(line)
        case At():
            return _instants([datetime.fromtimestamp(instant, UTC) for instant in line.instants])


def cron_in_words(cron: Cron) -> str:
    """One cron line, without its zone: `every 15 minutes of the hours 09 to 17 on Monday to Friday`."""
    words = _times(cron)
    if cron.days.every_day:
        words += "" if cron.hours == EVERY_HOUR else " every day"
    else:
        words += f" on {_days(cron.days)}"
    if cron.months != EVERY_MONTH:
        words += f" in {_listed(from_bits(cron.months), lambda month: MONTH_NAMES[month - 1])}"
    return words


def _times(cron: Cron) -> str:
    if cron.hours.bit_count() * cron.minutes.bit_count() * cron.seconds.bit_count() <= _FEW:
        return f"at {_and(_clock(time) for time in cron.times)}"
    minutes = _cycle(cron.minutes, EVERY_MINUTE, "minute")
    words = minutes
    if cron.seconds != 1:
        words = _cycle(cron.seconds, EVERY_SECOND, "second")
        if cron.minutes != EVERY_MINUTE:
            words += f" of {_numbers(cron.minutes, 'minute')}"
        elif words.startswith("at"):
            words += " of every minute"
    if cron.hours != EVERY_HOUR:
        hours = _listed(from_bits(cron.hours), "{:02}".format)
        return f"{words} of the hour{'s' if cron.hours.bit_count() > 1 else ''} {hours}"
    spelled_out = not minutes.startswith("every") or (cron.seconds != 1 and cron.minutes != EVERY_MINUTE)
    return f"{words} of every hour" if spelled_out else words


def _cycle(bits: int, every: int, unit: str) -> str:
    """`every minute`, `every 15 minutes`, or `at minutes 0 and 30`."""
    if bits == every:
        return f"every {unit}"
    values = list(from_bits(bits))
    if len(values) > 1 and 60 % values[1] == 0 and values == list(range(0, 60, values[1])):
        return f"every {values[1]} {unit}s"
    return f"at {_numbers(bits, unit)}"


def _numbers(bits: int, unit: str) -> str:
    return f"{unit}{'s' if bits.bit_count() > 1 else ''} {_listed(from_bits(bits), str)}"


def _days(days: Days) -> str:
    if days.both_must_match:
        if days.dates.all:
            return _weekdays(days.weekdays, "and")
        if days.weekdays.all:
            return _dates(days.dates)
        return f"{_dates(days.dates)} if that is {_weekdays(days.weekdays, 'or')}"
    return f"{_dates(days.dates)} or on {_weekdays(days.weekdays, 'and')}"


def _dates(dates: Dates) -> str:
    said: list[str] = []
    if dates.plain:
        said.append(_numbers(dates.plain, "day"))
    said += [
        f"{back} day{'s' * (back > 1)} before the last day" if back else "the last day"
        for back in dates.from_last
    ]
    said += [f"the weekday (Monday to Friday) nearest to day {day}" for day in dates.nearest]
    if dates.last_workday:
        said.append("the last weekday (Monday to Friday)")
    return f"{_and(said)} of the month"


def _weekdays(weekdays: Weekdays, last_word: str) -> str:
    # A week as people read it begins on Monday.
    monday_first = sorted((weekday or 7) for weekday in from_bits(weekdays.plain))
    said = _runs(monday_first, lambda weekday: DAY_NAMES[weekday % 7])
    said += [f"the {_NTH[nth]} {DAY_NAMES[weekday]} of the month" for weekday, nth in weekdays.nth]
    said += [f"the last {DAY_NAMES[weekday]} of the month" for weekday in weekdays.last]
    return _and(said, last_word)


def _every_days(line: EveryDays) -> str:
    if line.count == 1:
        return f"at {_clock(line.time)} every day"
    anchor = datetime.fromtimestamp(line.phase * DAY, UTC)
    if line.count == 7:
        return f"at {_clock(line.time)} on {anchor:%A}"
    return f"at {_clock(line.time)} every {line.count} days counted from {anchor:%Y-%m-%d}"


def _excluded(exclude: Exclude) -> str:
    said = [cron_in_words(line) for line in exclude.lines]
    dates = sorted(exclude.dates)
    if len(dates) > _FEW:
        said.insert(0, f"on {len(dates)} dates from {dates[0]} to {dates[-1]}")
    elif dates:
        said.insert(0, f"on {_and(map(str, dates))}")
    return " and ".join(said)


def _instants(instants: list[datetime]) -> str:
    if len(instants) > _FEW:
        return f"at {len(instants)} instants from {_instant(instants[0])} to {_instant(instants[-1])}"
    return f"at {_and(map(_instant, instants))}"


def _instant(instant: datetime) -> str:
    seconds = ":%S" if instant.second else ""
    return f"{instant:%Y-%m-%d %H:%M{seconds}} UTC"


def _clock(time: int) -> str:
    seconds = f":{time % 60:02}" if time % 60 else ""
    return f"{time // 3600:02}:{time // 60 % 60:02}{seconds}"


def _span(seconds: int) -> str:
    said: list[str] = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            said.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return _and(said)


def _listed(values: Iterable[int], say: Callable[[int], str]) -> str:
    return _and(_runs(values, say))


def _runs(values: Iterable[int], say: Callable[[int], str]) -> list[str]:
    """Each value, three or more in a row as `9 to 17`."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    said: list[str] = []
    for run in runs:
        said += [f"{say(run[0])} to {say(run[-1])}"] if len(run) > 2 else [say(value) for value in run]
    return said


def _and(words: Iterable[str], last_word: str = "and") -> str:
    *most, last = words
    return f"{', '.join(most)} {last_word} {last}" if most else last
