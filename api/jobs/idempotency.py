"""Idempotency keys: the same key and body are the same job, the same key with another body is a mistake.

https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/. Nothing is stored beside the job: the
hashes of key and body are in its memo, so a key lives exactly as long as its job does.
"""

import hashlib
import json
from enum import Enum, auto
from typing import Any, Protocol

from fastapi import Request

from api.problems import Problem, invalid
from duetime.contracts import limits


class Match(Enum):
    """How a job that is there relates to a key and body."""

    SAME = auto()
    OTHER_BODY = auto()
    OTHER_KEY = auto()


def check_key(key: str | None) -> str | None:
    """`key` when it is one; a `422` problem otherwise.

    ASCII alone: headers have no encoding of their own, so that the same accent would be another key elsewhere.
    """
    if key is None:
        return None
    if not 1 <= len(key) <= limits.IDEMPOTENCY_KEY_LENGTH or not (key.isascii() and key.isprintable()):
        bound = f"1 to {limits.IDEMPOTENCY_KEY_LENGTH} printable ASCII characters"
        raise invalid([{"pointer": "header Idempotency-Key", "message": f"must have {bound}"}])
    return key


def key_of(request: Request) -> str | None:
    """The key of a request; a `422` problem for one that is none, or for two."""
    given = request.headers.getlist("idempotency-key")
    if len(given) > 1:
        raise invalid([{"pointer": "header Idempotency-Key", "message": "is there twice: send it once"}])
    return check_key(given[0] if given else None)


def hashes(key: str, body: Any) -> dict[str, str]:
    """What is kept of a key and the body it came with. Bodies are compared as JSON: order of members is nothing."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {"key": _hash(key), "body": _hash(text)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Keyed(Protocol):
    """What was made under a key, perhaps."""

    @property
    def key_hashes(self) -> dict[str, str]:
        """What is kept of the key and its body."""


def match(facts: Keyed, wanted: dict[str, str]) -> Match:
    if facts.key_hashes.get("key") != wanted["key"]:
        return Match.OTHER_KEY
    return Match.SAME if facts.key_hashes.get("body") == wanted["body"] else Match.OTHER_BODY


def other_body() -> Problem:
    detail = "this Idempotency-Key came with another body before: use a new key for a new job, pipeline or operation"
    return Problem(
        422,
        "idempotency-key-reused",
        "Idempotency-Key used with another body",
        detail,
        errors=[{"pointer": "header Idempotency-Key", "message": detail}],
    )
