"""Bytes of unknown origin as text that fits into a result: bounded, valid JSON, cut where a character ends.

Receivers and commands answer with whatever bytes they like. Bytes that are not UTF-8 become U+FFFD, one bad
byte never costs a job that has done its work, and control characters (six bytes each in JSON, RFC 8259
section 7) cannot blow a small answer up over the bound of a result.
"""

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass

#: How much of a body or of a stream is kept, in bytes as they came.
KEPT_BYTES = 64 * 1024
#: How much room one text may take in the result's JSON. Two of them stay under the 256 KiB of a result.
JSON_BYTES = 112 * 1024


@dataclass(frozen=True)
class Excerpt:
    """`text`, and whether anything was left out of it."""

    text: str
    truncated: bool


def head(data: bytes, *, cut: bool, room: int = JSON_BYTES) -> Excerpt:
    """The beginning of a text; `cut` says that `data` goes on after what is given."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not cut)
    length = _longest(len(text), lambda length: _json_size(text[:length]) <= room)
    return Excerpt(text[:length], cut or length < len(text))


def tail(data: bytes, *, cut: bool, room: int = JSON_BYTES) -> Excerpt:
    """The end of a text; `cut` says that something stood before what is given."""
    text = data[_rest_of_character(data) if cut else 0 :].decode("utf-8", "replace")
    length = _longest(len(text), lambda length: _json_size(text[len(text) - length :]) <= room)
    return Excerpt(text[len(text) - length :], cut or length < len(text))


def _rest_of_character(data: bytes) -> int:
    """How many of the first bytes belong to a character whose beginning was cut off: 0 to 3."""
    length = 0
    while length < min(3, len(data)) and data[length] & 0xC0 == 0x80:
        length += 1
    return length


def _json_size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())


def _longest(length: int, fits: Callable[[int], bool]) -> int:
    """The greatest number up to `length` that `fits`; whatever is below one that fits must fit too."""
    if fits(length):
        return length
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
