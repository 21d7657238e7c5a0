"""Text for terminals and for scripts. What others wrote (ids, messages, payloads) cannot steer a terminal here."""

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import IO, Any

from duetime.contracts.duration import format_duration

#: Control characters of both sets, and the marks that turn the direction of writing.
_STEERING = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def safe(text: str, *, lines: bool = False) -> str:
    """`text` with everything that steers a terminal made visible; `lines` keeps line ends and tabs."""

    def shown(match: re.Match[str]) -> str:
        sign = match[0]
        if lines and sign in "\n\t":
            return sign
        return f"\\x{ord(sign):02x}" if ord(sign) < 256 else f"\\u{ord(sign):04x}"

    return _STEERING.sub(shown, text)


def as_json(value: Any, *, indent: int | None = None, stream: IO[str] | None = None) -> str:
    """`value` as JSON that survives every terminal, pipe and encoding."""
    encoding = (getattr(stream or sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    text = json.dumps(value, indent=indent, ensure_ascii=encoding != "utf8")
    # Inside JSON these can only be in strings, where an escape says the same.
    return _STEERING.sub(lambda m: m[0] if m[0] == "\n" else f"\\u{ord(m[0]):04x}", text)


def local(instant: datetime | None) -> str:
    """An instant by this machine's clock, with its offset."""
    return "" if instant is None else instant.astimezone().isoformat(" ", "seconds")


def ago(instant: datetime | None, now: datetime | None = None) -> str:
    """`in 2h5m`, `3m ago`, `now`: the two largest units."""
    if instant is None:
        return ""
    span = instant - (now or datetime.now(UTC))
    seconds = round(abs(span) / timedelta(seconds=1))
    if seconds == 0:
        return "now"
    told = _largest_two(seconds)
    return f"in {told}" if span > timedelta(0) else f"{told} ago"


def _largest_two(seconds: int) -> str:
    for unit in (86_400, 3_600, 60):
        if seconds >= unit:
            seconds -= seconds % {86_400: 3_600, 3_600: 60, 60: 1}[unit]
            break
    return format_duration(timedelta(seconds=seconds))
