"""Ids that Duetime makes."""

import hashlib
import secrets
from datetime import datetime, timedelta

from duetime.contracts.instants import EPOCH

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(now: datetime) -> str:
    """An id that sorts by time: 48 bits of milliseconds and 80 of chance, as in a ULID, in lower case."""
    number = ((now - EPOCH) // timedelta(milliseconds=1) << 80) | secrets.randbits(80)
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def id_of_key(key: str) -> str:
    """The id of a job that is known by its Idempotency-Key alone; `~` keeps it apart from callers' ids."""
    return f"key~{hashlib.sha256(key.encode()).hexdigest()[:40]}"
