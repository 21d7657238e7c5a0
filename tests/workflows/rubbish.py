"""What somebody may give a workflow, its signals, updates and queries by hand, by mistake."""

from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue


def payload(data: bytes, encoding: str = "json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


ODD = payload(b"\xff", "odd/one")
SECRET = payload(b"\x00\x01", "binary/encrypted")

#: Nothing of these is an argument for anything.
RUBBISH: dict[str, list[Any]] = {
    "a text": ["x"],
    "a number": [5],
    "a huge number": [payload(b"9" * 400)],
    "more digits than Python reads": [payload(b"9" * 5_000)],
    "infinity": [payload(b"1e999")],
    "a list": [[1]],
    "an object with none of its fields": [{"nobody": "knows"}],
    "deep": [payload(b"[" * 5_000 + b"]" * 5_000)],
    "no JSON": [payload(b"{")],
    "no UTF-8": [payload(b'"\xff"')],
    "a lone surrogate": [payload(b'"\\ud800"')],
    "bytes": [b"x"],
    "of an encoding of nobody": [ODD],
    "encrypted": [SECRET],
    "of no encoding": [RawValue(Payload(data=b"x"))],
    "two": [{"nobody": "knows"}, 2],
    "two of an encoding of nobody": [ODD, SECRET],
    "two, of which one is of an encoding of nobody": [{"kind": "noop"}, ODD],
    "two that are no JSON": [payload(b"{"), payload(b"\xff")],
    "three": [None, ODD, "x"],
}
#: Which something takes all the same.
NOTHING: dict[str, list[Any]] = {"nothing": [], "null": [None], "null as JSON": [payload(b"null")]}
