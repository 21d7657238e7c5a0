"""Where a list goes on: a position in the list as it was when its first page was read.

The index moves while a list is paged through: jobs arrive, and open ones move to the finished ones. So a list is of one
moment, its first page. Jobs that were open then are listed by when they were created, wherever they are by now; after
them come those that had finished by then, the last first. Both orders are by what never changes of a run, so nothing is
told twice or left out. `cutoff` divides them: a job that ended later was open.

A cursor is text for one filter in one namespace. It holds instants and run ids and nothing else, so that whatever
somebody makes of one, it names at most another place in the same list. It needs no secret, so every API instance
reads what any other wrote.
"""

import base64
import hashlib
import struct
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum

from api.jobs.index import Row
from api.problems import Problem, invalid
from duetime.contracts.instants import EPOCH

_VERSION = 1
_MICROSECOND = timedelta(microseconds=1)
_HEAD = struct.Struct(">BBqq?")
_KEY = struct.Struct(">qq16s")
_CHECK_BYTES = 12
#: Far more than the index is behind by; a URL still has room for them.
_MOST_TOLD = 100


class Part(IntEnum):
    """The two parts of a list."""

    #: Jobs that were open, by `(started_at descending, run_id)`.
    OPEN = 1
    #: Jobs that had finished, by `(closed_at descending, started_at descending, run_id)`.
    FINISHED = 2


@dataclass(frozen=True)
class Key:
    """A run's place in the order of its part."""

    closed_at: datetime
    started_at: datetime
    run_id: str


def key_of(row: Row) -> Key:
    return Key(row.closed_at or EPOCH, row.started_at, row.run_id)


@dataclass(frozen=True)
class Cursor:
    """The place after `last` in its part; the part's beginning when there is none."""

    part: Part
    #: The end of the last job that had finished when the list began.
    cutoff: datetime
    #: The start of the newest job that was open then.
    newest: datetime
    last: Key | None = None
    #: Runs told among the open ones although they ended before `cutoff`: the index heard of it late.
    told: tuple[str, ...] = ()

    def with_told(self, run_ids: Iterable[str]) -> "Cursor":
        return replace(self, told=(*self.told, *run_ids)[-_MOST_TOLD:])


def write(cursor: Cursor, scope: str) -> str:
    """The cursor as text. `scope` is what it is good for: the namespace and the filter."""
    cutoff, newest = _micros(cursor.cutoff), _micros(cursor.newest)
    body = _HEAD.pack(_VERSION, cursor.part, cutoff, newest, cursor.last is not None)
    if cursor.last is not None:
        last = cursor.last
        body += _KEY.pack(_micros(last.closed_at), _micros(last.started_at), uuid.UUID(last.run_id).bytes)
    body += b"".join(uuid.UUID(run_id).bytes for run_id in cursor.told)
    return base64.urlsafe_b64encode(body + _check(body, scope)).rstrip(b"=").decode()


def read(text: str, scope: str) -> Cursor:
    """The cursor that was written as `text` for this scope; a `422` problem for anything else."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
        if check != _check(body, scope):
            raise _refused()
        return _read(body)
    except (ValueError, OverflowError, struct.error):
        raise _refused() from None


def _read(body: bytes) -> Cursor:
    version, part, cutoff, newest, has_last = _HEAD.unpack_from(body)
    if version != _VERSION:
        raise ValueError("a cursor of another version")
    at, last = _HEAD.size, None
    if has_last:
        closed, started, run_id = _KEY.unpack_from(body, at)
        last = Key(_instant(closed), _instant(started), str(uuid.UUID(bytes=run_id)))
        at += _KEY.size
    told = tuple(str(uuid.UUID(bytes=body[i : i + 16])) for i in range(at, len(body), 16))
    return Cursor(Part(part), _instant(cutoff), _instant(newest), last, told)


def _check(body: bytes, scope: str) -> bytes:
    return hashlib.sha256(scope.encode() + b"\0" + body).digest()[:_CHECK_BYTES]


def _micros(at: datetime) -> int:
    return (at - EPOCH) // _MICROSECOND


def _instant(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def _refused() -> Problem:
    message = "is no cursor of this list: take `next_cursor` as it was given, together with the same filter"
    return invalid([{"pointer": "query cursor", "message": message}])
