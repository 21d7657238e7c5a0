"""One field of a cron line: lists, ranges, steps, names and `H`, read into the numbers they mean."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from duetime.cron.errors import CronError

#: `(salt, count)` to a stable number below `count`: the hash behind `H`; `None` when no schedule id is known.
Pick = Callable[[str, int], int] | None

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def _spellings(names: tuple[str, ...], first: int) -> dict[str, int]:
    """Three letters or the whole word, as crontab(5) and people write them."""
    numbered = {name.upper(): number for number, name in enumerate(names, first)}
    return numbered | {name[:3]: number for name, number in numbered.items()}


@dataclass(frozen=True)
class Field:
    """A field's place in the line: what its numbers may be and what words stand for them."""

    name: str
    low: int
    high: int
    names: dict[str, int]
    #: The highest value `H` chooses: days 29 to 31 would leave months out.
    hash_high: int


SECOND = Field("second", 0, 59, {}, 59)
MINUTE = Field("minute", 0, 59, {}, 59)
HOUR = Field("hour", 0, 23, {}, 23)
DAY_OF_MONTH = Field("day of month", 1, 31, {}, 28)
MONTH = Field("month", 1, 12, _spellings(MONTH_NAMES, 1), 12)
DAY_OF_WEEK = Field("day of week", 0, 7, _spellings(DAY_NAMES, 0), 6)

_HASH = re.compile(r"H(?:\(([^()]*)\))?", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """One element of a comma-separated list: the numbers it names, and how it was written."""

    text: str
    values: tuple[int, ...]
    star: bool = False
    #: 0 when no step was written.
    step: int = 0
    #: `5/15`: a step on a single number, which crontab(5) does not know.
    bare_step: bool = False


def fault(field: Field, reason: str, token: str, column: int, hint: str = "") -> NoReturn:
    raise CronError(f"{field.name}: {reason}", hint=hint, token=token, column=column)


def read_part(field: Field, text: str, column: int, pick: Pick) -> Part:
    """`text`, one list element that starts at `column`, as numbers of `field`; 7 in the day of week is left
    as 7.
    """
    if not text:
        fault(field, "an empty list element", text, column, "remove the extra comma")
    base, slash, step_text = text.partition("/")
    step = _read_step(field, text, step_text, column + len(base) + 1) if slash else 0
    if base == "*":
        return Part(text, tuple(range(field.low, field.high + 1, step or 1)), star=True, step=step)
    if match := _HASH.fullmatch(base):
        return Part(text, _read_hash(field, text, match[1], step, column, pick), step=step)
    low_text, dash, high_text = base.partition("-")
    low = _read_value(field, low_text, column)
    if not dash:
        if not step:
            return Part(text, (low,))
        return Part(text, tuple(range(low, field.high + 1, step)), step=step, bare_step=True)
    high = _read_value(field, high_text, column + len(low_text) + 1)
    if field is DAY_OF_WEEK and high == 0 and low > 0:
        high = 7  # SAT-SUN: a range that ends on Sunday ends the week
    if low > high:
        fault(
            field,
            f"the range '{base}' runs backwards",
            base,
            column,
            f"write '{_unwrapped(field, low, high, step)}'",
        )
    return Part(text, tuple(range(low, high + 1, step or 1)), step=step)


def _read_step(field: Field, text: str, step_text: str, column: int) -> int:
    if "/" in step_text:
        fault(field, f"'{text}' has more than one step", step_text, column, "write one, as in '*/15'")
    if not _is_number(step_text) or int(step_text) == 0:
        fault(
            field, f"'{step_text}' is not a step", step_text, column, "write a number from 1 up, as in '*/15'"
        )
    return int(step_text)


def _read_hash(
    field: Field, text: str, bounds: str | None, step: int, column: int, pick: Pick
) -> tuple[int, ...]:
    if pick is None:
        fault(
            field,
            f"'{text}' is chosen by the schedule's id, and none is known here",
            text,
            column,
            "give the schedule's id, or write a number",
        )
    low, high = field.low, field.hash_high
    if bounds is not None:
        first, dash, last = bounds.partition("-")
        if not dash:
            fault(field, f"'{text}' needs a range", text, column, f"write 'H({field.low}-{field.hash_high})'")
        low = _read_value(field, first, column + 2)
        high = _read_value(field, last, column + 3 + len(first))
        if low > high:
            fault(
                field,
                f"the range '{bounds}' runs backwards",
                bounds,
                column + 2,
                "put the lower number first",
            )
    if not step:
        return (low + pick(field.name, high - low + 1),)
    first_value = low + pick(field.name, min(step, high - low + 1))
    return tuple(range(first_value, high + 1, step))


def _read_value(field: Field, text: str, column: int) -> int:
    if _is_number(text):
        value = int(text)
        if field.low <= value <= field.high:
            return value
        hint = "midnight is hour 0" if field is HOUR and value == 24 else ""
        fault(field, f"{value} is not in {field.low}-{field.high}", text, column, hint)
    number = field.names.get(text.upper())
    if number is not None:
        return number
    fault(field, f"'{text}' is not understood", text, column, _way_out(field, text))


def _way_out(field: Field, text: str) -> str:
    upper = text.upper()
    if not text:
        return "a number is missing"
    if "?" in text:
        return "'?' is Quartz's word for any: write '*'"
    if "~" in text:
        return "write 'H' for a value chosen once: 'H(0-29)'"
    for other in (MONTH, DAY_OF_WEEK):
        if other is not field and upper in other.names:
            return f"that is a {other.name}: the order is minute, hour, day of month, month, day of week"
    if field.names:
        near = get_close_matches(upper, field.names, n=1, cutoff=0.75)
        near = near or [name for name in field.names if len(upper) > 1 and name.startswith(upper)][:1]
        first = next(iter(field.names))[:3]
        return f"did you mean {near[0][:3]}?" if near else f"write a number or a name such as {first}"
    if upper[-1:] in ("L", "W") or "#" in upper:
        return "'L' and 'W' belong to the day of month, 'L' and '#' to the day of week"
    return f"write a number from {field.low} to {field.high}, '*', or a list, range or step of them"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _unwrapped(field: Field, low: int, high: int, step: int) -> str:
    """What the author of a backwards range meant: once round the clock, as a list that cron reads."""
    top = 6 if field is DAY_OF_WEEK else field.high
    size = top - field.low + 1
    if low > top:
        low -= size
    count = (high - low) % size + 1
    values = [field.low + (low - field.low + index) % size for index in range(0, count, step or 1)]
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
