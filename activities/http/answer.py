"""What came back: read up to a bound, whatever was sent, and told as the job's result."""

import json
from contextlib import aclosing
from dataclasses import dataclass

import httpx2

from activities.text import KEPT_BYTES, head

_MOST_HEADERS = 64
_LONGEST_VALUE = 1024
_ROOM_FOR_HEADERS = 16 * 1024
_ROOM_FOR_JSON = 96 * 1024
_DEEPEST = 100
# Given to one client, of no use in a result, and readable by everybody who may read jobs.
_SECRET_HEADERS = frozenset({"set-cookie", "set-cookie2"})


@dataclass(frozen=True)
class Answer:
    """`headers` in order, names in lower case; at most `KEPT_BYTES` of `body`, `cut` if it was more."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    cut: bool = False
    body_error: str | None = None

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def as_result(self) -> dict[str, object]:
        """`status`, `headers`, `body` (text), `truncated`.

        `json` when the whole body is JSON and says so, `body_error` when its coding could not be undone.
        """
        text = head(self.body, cut=self.cut)
        result: dict[str, object] = {
            "status": self.status,
            "headers": self._bounded_headers(),
            "body": text.text,
            "truncated": text.truncated,
        }
        if self.body_error:
            result["body_error"] = self.body_error
        elif not text.truncated and self._says_json():
            result |= _parsed(text.text)
        return result

    def _says_json(self) -> bool:
        media_type = ",".join(self.values("content-type")).partition(";")[0].strip().lower()
        return media_type == "application/json" or media_type.endswith("+json")

    def _bounded_headers(self) -> dict[str, str]:
        kept: dict[str, str] = {}
        room = _ROOM_FOR_HEADERS
        for name, value in self.headers:
            value = f"{kept[name]}, {value}" if name in kept else value
            value = value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 1] + "…"
            room -= len(name) + len(value)
            if name not in _SECRET_HEADERS and room >= 0 and (len(kept) < _MOST_HEADERS or name in kept):
                kept[name] = value
        return kept


async def read_answer(response: httpx2.Response) -> Answer:
    """The head and as much of the body as is kept; what comes after that is not read.

    A compressed body is unpacked in pieces of at most 1 MiB, so that a small bomb stays small.
    """
    headers = tuple((name.lower(), value) for name, value in response.headers.multi_items())
    body, error = bytearray(), None
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece[: KEPT_BYTES + 1 - len(body)]
                if len(body) > KEPT_BYTES:
                    break
    except httpx2.DecodingError:
        error = f"not valid {response.headers.get('content-encoding', '')[:50]}"
    return Answer(response.status_code, headers, bytes(body[:KEPT_BYTES]), len(body) > KEPT_BYTES, error)


def _parsed(text: str) -> dict[str, object]:
    """`{"json": value}`, or nothing when it is not JSON, or not such as could be written again."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError):
        return {}
    return {"json": value} if size <= _ROOM_FOR_JSON and _is_flat(value) else {}


def _is_flat(value: object) -> bool:
    """Whether `value` nests at most `_DEEPEST` levels: whoever writes the result has a limit too."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (
                outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
            )
        ]
        if not level:
            return True
    return False


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
