"""From the text of a cron line to what it means.

Five fields as in crontab(5): minute, hour, day of month, month, day of week. Six fields have the second
first. The nicknames `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`, and
`@every 90m`. What follows a blank and `#` is a comment.
"""

import re
from dataclasses import replace
from functools import partial
from typing import NoReturn

from duetime.cron.bits import to_bits
from duetime.cron.cron import Cron
from duetime.cron.dayfields import Element, read_dates, read_weekdays
from duetime.cron.days import Days
from duetime.cron.errors import CronError, RuleError
from duetime.cron.every import Every, read_every
from duetime.cron.fields import HOUR, MINUTE, MONTH, SECOND, Field, Part, Pick, read_part
from duetime.cron.hashing import pick
from duetime.cron.lint import Parts, lint

MAX_LENGTH = 256

_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ORDER = "minute, hour, day of month, month, day of week"
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_TOKEN = re.compile(r"[^ \t]+")
_SECOND_ZERO = Element("0", 0)
_ZONE_PREFIX = re.compile(r"(?:CRON_)?TZ=(\S*)", re.IGNORECASE)


def parse(text: str, schedule_id: str | None = None) -> Cron | Every:
    """Read one cron line; `schedule_id` is what `H` is chosen by.

    Raises `CronError` with the column, the token and the way out; also for a line that can never fire.
    """
    if not isinstance(text, str):
        raise CronError("a cron line is a string")
    if len(text) > MAX_LENGTH:
        raise CronError(
            f"longer than {MAX_LENGTH} characters", hint="give a list of lines instead: their union fires"
        )
    rule = text.strip(" \t\r\n")
    start = text.find(rule) + 1
    rule = _COMMENT.sub("", rule)
    if odd := re.search(r"[^ -~\t]", rule):
        _refuse("only printable ASCII makes a cron line", odd[0], start + odd.start())
    tokens = [Element(match[0], start + match.start()) for match in _TOKEN.finditer(rule)]
    if not tokens:
        raise CronError("empty", hint=f"write five fields ({_ORDER}), as in '0 2 * * MON-FRI'")
    if match := _ZONE_PREFIX.match(tokens[0].text):
        _refuse("a time zone does not go into the line", match[0], start, f"set 'timezone' to '{match[1]}'")
    if tokens[0].text.startswith("@"):
        return _nickname(text, tokens)
    return _fields(text, tokens, partial(pick, schedule_id) if schedule_id is not None else None)


def _nickname(text: str, tokens: list[Element]) -> Cron | Every:
    name, column = tokens[0].text.lower(), tokens[0].column
    if name == "@reboot":
        hint = "submit a job when your program starts"
        _refuse("'@reboot' has no meaning here, a distributed scheduler has no boot", name, column, hint)
    if name == "@every":
        return _every(text, tokens)
    if name not in _NICKNAMES:
        hint = f"write one of {', '.join(_NICKNAMES)}, '@every 90m', or five fields"
        _refuse(f"'{tokens[0].text}' is not a nickname of cron", tokens[0].text, column, hint)
    if len(tokens) > 1:
        _refuse(
            f"'{name}' stands alone",
            tokens[1].text,
            tokens[1].column,
            "give the rule only, without a command",
        )
    fields = [Element(field, column) for field in _NICKNAMES[name].split()]
    return _fields(text, fields, None)


def _every(text: str, tokens: list[Element]) -> Every:
    if len(tokens) != 2:
        _refuse("'@every' takes one span", tokens[-1].text, tokens[-1].column, "write '@every 90m'")
    try:
        return replace(read_every(tokens[1].text), text=text)
    except RuleError as error:
        _refuse(f"@every: {error.reason}", tokens[1].text, tokens[1].column, "write '@every 90m'")


def _fields(text: str, tokens: list[Element], pick: Pick) -> Cron:
    has_seconds = len(tokens) == 6
    _check_count(tokens)
    second, minute, hour, date, month, weekday = tokens if has_seconds else [_SECOND_ZERO, *tokens]
    dates, date_parts = read_dates(_elements(date), pick)
    weekdays, weekday_parts = read_weekdays(_elements(weekday), pick)
    parts = Parts(
        second=_parts(SECOND, second, pick),
        minute=_parts(MINUTE, minute, pick),
        hour=_parts(HOUR, hour, pick),
        dates=date_parts,
        month=_parts(MONTH, month, pick),
        weekdays=weekday_parts,
    )
    cron = Cron(
        text=text,
        seconds=_bits(parts.second),
        minutes=_bits(parts.minute),
        hours=_bits(parts.hour),
        months=_bits(parts.month),
        days=Days(dates, weekdays),
        follows_clock=minute.text.startswith("*") or hour.text.startswith("*"),
        has_seconds=has_seconds,
    )
    if not cron.days.ever(cron.months):
        hint = "'L' is the last day of a month, whatever its length"
        _refuse(
            "never fires: no year has a day that the day and month fields name", date.text, date.column, hint
        )
    return replace(cron, warnings=tuple(lint(cron, parts)))


def _check_count(tokens: list[Element]) -> None:
    if len(tokens) not in (5, 6):
        hint = f"write five fields ({_ORDER}), or six with the second first"
        if len(tokens) > 6:
            hint += "; there is no field for years, users or commands"
        _refuse(
            f"{len(tokens)} field{'s' if len(tokens) > 1 else ''}", tokens[-1].text, tokens[-1].column, hint
        )
    if len(tokens) == 6 and re.match(r"[12]\d{3}", tokens[5].text):
        hint = "of six fields the first is the second; 'start_at' and 'end_at' bound the years"
        _refuse("there is no field for years", tokens[5].text, tokens[5].column, hint)


def _elements(token: Element) -> list[Element]:
    elements: list[Element] = []
    column = token.column
    for text in token.text.split(","):
        elements.append(Element(text, column))
        column += len(text) + 1
    return elements


def _parts(field: Field, token: Element, pick: Pick) -> list[Part]:
    return [read_part(field, element.text, element.column, pick) for element in _elements(token)]


def _bits(parts: list[Part]) -> int:
    return to_bits(value for part in parts for value in part.values)


def _refuse(reason: str, token: str, column: int, hint: str = "") -> NoReturn:
    raise CronError(reason, hint=hint, token=token, column=column)
