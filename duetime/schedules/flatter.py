"""A cron line with `H` in place of the minute that everybody writes."""

import re

from duetime.cron.bits import from_bits
from duetime.cron.cron import EVERY_MINUTE, Cron
from duetime.cron.parse import parse

_H = re.compile(r"(?:^|[ ,\t])H", re.IGNORECASE)
_NICKNAMES = {
    "@hourly": "H * * * *",
    "@daily": "H 0 * * *",
    "@midnight": "H 0 * * *",
    "@weekly": "H 0 * * 0",
    "@monthly": "H 0 1 * *",
    "@yearly": "H 0 1 1 *",
    "@annually": "H 0 1 1 *",
}


def hashed(line: Cron, schedule_id: str) -> Cron | None:
    """`line` with its minute, or the beginning of its minutes' steps, chosen by the id; `None` when that is so already,
    or when its minutes are no even steps through the hour.

    The hour stays: `0 2 * * *` becomes `H 2 * * *`.
    """
    text = re.sub(r"(?:^|(?<=[ \t]))#.*", "", line.text).strip()
    if _H.search(text):
        return None
    if text.lower() in _NICKNAMES:
        return _read(_NICKNAMES[text.lower()], schedule_id)
    fields = text.split()
    minute = _even(line.minutes)
    if minute is None or len(fields) not in (5, 6):
        return None
    fields[-5] = minute
    return _read(" ".join(fields), schedule_id)


def _even(minutes: int) -> str | None:
    """`H` for one minute of the hour, `H/15` for four at even distances."""
    named = list(from_bits(minutes))
    step = 60 // len(named)
    if minutes == EVERY_MINUTE or 60 % len(named) or named != list(range(named[0], 60, step)):
        return None
    return "H" if len(named) == 1 else f"H/{step}"


def _read(text: str, schedule_id: str) -> Cron:
    line = parse(text, schedule_id)
    assert isinstance(line, Cron)
    return line
