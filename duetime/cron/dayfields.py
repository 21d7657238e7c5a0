"""The day fields' own words: `L`, `L-3`, `15W`, `LW` for days of the month; `FRI#2`, `5L` for weekdays."""

import re
from dataclasses import dataclass

from duetime.cron.bits import to_bits
from duetime.cron.days import Dates, Weekdays
from duetime.cron.fields import DAY_OF_MONTH, DAY_OF_WEEK, MONTH, Part, Pick, fault, read_part

_FROM_LAST = re.compile(r"L(?:-(\d{1,2}))?", re.IGNORECASE | re.ASCII)
_NEAREST = re.compile(r"(\d{1,2})W", re.IGNORECASE | re.ASCII)
_LAST_WEEKDAY = re.compile(r"([A-Z]{3,}|\d)L", re.IGNORECASE | re.ASCII)
_NTH = re.compile(r"([A-Z]+|\d)#(.*)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Element:
    """One element of a list and the column it starts at."""

    text: str
    column: int


def read_dates(elements: list[Element], pick: Pick) -> tuple[Dates, list[Part]]:
    plain: list[Part] = []
    from_last: set[int] = set()
    nearest: set[int] = set()
    last_workday = False
    for element in elements:
        text, column = element.text, element.column
        if match := _FROM_LAST.fullmatch(text):
            from_last.add(_checked(int(match[1] or 0), 0, 30, element))
        elif match := _NEAREST.fullmatch(text):
            nearest.add(_checked(int(match[1]), 1, 31, element))
        elif text.upper() == "LW":
            last_workday = True
        elif "W" in text.upper() and text.upper() not in DAY_OF_WEEK.names:
            hint = "write '15W' for the weekday nearest to the 15th, 'LW' for the month's last weekday"
            fault(DAY_OF_MONTH, f"'{text}' is not understood", text, column, hint)
        else:
            plain.append(read_part(DAY_OF_MONTH, text, column, pick))
    bits = to_bits(value for part in plain for value in part.values)
    star = elements[0].text.startswith("*")
    return Dates(bits, star, tuple(sorted(from_last)), tuple(sorted(nearest)), last_workday), plain


def read_weekdays(elements: list[Element], pick: Pick) -> tuple[Weekdays, list[Part]]:
    plain: list[Part] = []
    nth: set[tuple[int, int]] = set()
    last: set[int] = set()
    for element in elements:
        text, column = element.text, element.column
        upper = text.upper()
        if match := _NTH.fullmatch(text):
            if match[2] not in ("1", "2", "3", "4", "5"):
                hint = "write '#1' to '#5'; '5L' is the last Friday"
                fault(DAY_OF_WEEK, f"'#{match[2]}' is not a week of the month", text, column, hint)
            nth.add((_weekday(match[1], column), int(match[2])))
        elif "#" in text:
            fault(
                DAY_OF_WEEK, f"'{text}' is not understood", text, column, "'#' goes with one weekday: 'FRI#2'"
            )
        elif (match := _LAST_WEEKDAY.fullmatch(text)) and upper not in MONTH.names:
            last.add(_weekday(match[1], column))
        elif upper == "L":
            hint = "'5L' is the last Friday of the month, 'SAT' is Saturday"
            fault(DAY_OF_WEEK, "'L' needs a weekday", text, column, hint)
        elif upper[:1] == "L":
            fault(DAY_OF_WEEK, f"'{text}' is not understood", text, column, "write '5L' for the last Friday")
        else:
            plain.append(read_part(DAY_OF_WEEK, text, column, pick))
    # Ranges are whole before 7 becomes 0: `5-7` is Friday to Sunday.
    bits = to_bits(value % 7 for part in plain for value in part.values)
    star = elements[0].text.startswith("*")
    return Weekdays(bits, star, tuple(sorted(nth)), tuple(sorted(last))), plain


def _weekday(text: str, column: int) -> int:
    return read_part(DAY_OF_WEEK, text, column, None).values[0] % 7


def _checked(value: int, low: int, high: int, element: Element) -> int:
    if not low <= value <= high:
        fault(DAY_OF_MONTH, f"{value} is not in {low}-{high}", element.text, element.column)
    return value
