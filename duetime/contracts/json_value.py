"""What may travel as a payload, a result or a checkpoint: JSON that every party reads back exactly.

Refused: NaN and infinities (not JSON, RFC 8259 section 6), lone surrogates (not Unicode text, section 8.2), nesting
beyond the bound, integers of more than 4,300 digits (Python's own bound for reading one), and sizes beyond the bound.
Long integers up to there and NUL characters are JSON and stay exact.
"""

import json
import math
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from duetime.contracts.limits import JSON_DEPTH

#: A payload or checkpoint of the full depth, and the job or record around it.
_READABLE_DEPTH = JSON_DEPTH + 20


class JsonValueError(ValueError):
    """A value that is not exact JSON; `pointer` (RFC 6901) names the place."""

    def __init__(self, pointer: str, message: str) -> None:
        self.pointer = pointer
        super().__init__(message)

    def about(self, what: str) -> str:
        """A sentence of safe length on `what`, with the place in it."""
        return f"{what} at {self.pointer[:200]}: {self}" if self.pointer else f"{what}: {self}"


class JsonTooLarge(JsonValueError):
    """The compact UTF-8 text of the value is over the bound."""

    def __init__(self, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__("", f"{size:,} bytes of JSON; at most {limit:,}")


def check_json(value: Any, limit: int, depth: int = JSON_DEPTH) -> int:
    """The size of `value` in bytes of compact UTF-8 JSON; `JsonValueError` when it is not exact JSON or too large."""
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
        _check_shape(value, depth)
    except JsonValueError:
        raise
    except (TypeError, ValueError, RecursionError):
        _find_fault(value, "", depth)
        raise JsonValueError("", "not JSON") from None
    if size > limit:
        raise JsonTooLarge(size, limit)
    return size


def parse_json(data: bytes) -> Any:
    """The JSON value in `data`, as RFC 8259 and I-JSON (RFC 7493) have it: UTF-8, every member once, no NaN.

    `ValueError` says what is wrong, in text that can be sent.
    """
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError(f"nested deeper than {JSON_DEPTH} levels") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        too_long = "integer string conversion" in str(error)
        raise ValueError("an integer of too many digits" if too_long else str(error)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        seen: set[str] = set()
        twice = next(name for name, _ in members if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the member {sendable(twice)[:100]!r} is there twice")
    return found


def readable(value: Any) -> Any:
    """`value` as it can be answered, whoever wrote it: what is not exact JSON in it is told as text."""
    try:
        check_json(value, sys.maxsize, _READABLE_DEPTH)
    except JsonValueError:
        return _told(value, _READABLE_DEPTH)
    return value


def _told(value: Any, depth: int) -> Any:
    if depth <= 0 and isinstance(value, dict | list | tuple):
        return "(nested too deep)"
    match value:
        case None | bool():
            return value
        case int():
            return value if _is_readable(value) else "(an integer of too many digits)"
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return sendable(value)
        case dict():
            return {sendable(str(key)): _told(item, depth - 1) for key, item in value.items()}
        case list() | tuple():
            return [_told(item, depth - 1) for item in value]
    return f"({type(value).__name__})"


def _check_shape(value: Any, depth: int) -> None:
    """Depth, and keys: `json.dumps` would quietly turn other keys into text."""
    level, left = [value] if isinstance(value, dict | list | tuple) else [], depth
    while level:
        left -= 1
        if left < 0:
            raise JsonValueError("", f"nested deeper than {depth} levels")
        for item in level:
            if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
                raise TypeError
        level = [
            child for item in level for child in _children(item) if isinstance(child, dict | list | tuple)
        ]


def _children(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list | tuple) else ()


def _find_fault(value: Any, pointer: str, depth: int) -> None:
    if depth <= 0 and isinstance(value, dict | list | tuple):
        raise JsonValueError("", f"nested deeper than {JSON_DEPTH} levels")
    match value:
        case None | bool():
            return
        case int():
            _check_digits(value, pointer)
        case float():
            if not math.isfinite(value):
                raise JsonValueError(pointer, f"{value} is not a JSON number")
        case str():
            _check_text(value, pointer)
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    raise JsonValueError(pointer, f"the key {key!r:.50} is not text")
                _check_text(key, pointer)
                _find_fault(item, f"{pointer}/{escape_pointer(key)}", depth - 1)
        case list() | tuple():
            for index, item in enumerate(value):
                _find_fault(item, f"{pointer}/{index}", depth - 1)
        case _:
            raise JsonValueError(pointer, f"{type(value).__name__} is not a JSON type")


def _check_digits(number: int, pointer: str) -> None:
    if not _is_readable(number):
        raise JsonValueError(pointer, "an integer of too many digits")


def _is_readable(number: int) -> bool:
    try:
        str(number)
    except ValueError:
        return False
    return True


def _check_text(text: str, pointer: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise JsonValueError(pointer, "a lone surrogate is not Unicode text") from None


def escape_pointer(key: str) -> str:
    """`key` as one step of a JSON pointer (RFC 6901 section 3), always printable."""
    return sendable(key.replace("~", "~0").replace("/", "~1"))


def sendable(text: str) -> str:
    """`text` as UTF-8 can carry it: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
