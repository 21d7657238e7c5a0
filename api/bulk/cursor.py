"""The place where a list of operations goes on: the server's own page token, with a sum that tells what was changed.

The token names a place and holds no query. The sum is no secret: it keeps typing errors from the server, which answers
them as if it were broken.
"""

import base64
import binascii
import hashlib

from api.problems import invalid

_SUM = 8


def write_cursor(token: bytes, namespace: str) -> str:
    """A cursor for a page token of this namespace."""
    return base64.urlsafe_b64encode(_sum(token, namespace) + token).decode()


def read_cursor(text: str, namespace: str) -> bytes:
    """The page token; a `422` problem for a text that no list of this namespace gave."""
    try:
        raw = base64.b64decode(text.encode(), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    token = raw[_SUM:]
    if not token or raw[:_SUM] != _sum(token, namespace):
        raise invalid([{"pointer": "query cursor", "message": "is not one that a list gave"}])
    return token


def _sum(token: bytes, namespace: str) -> bytes:
    return hashlib.sha256(namespace.encode() + b"\n" + token).digest()[:_SUM]
