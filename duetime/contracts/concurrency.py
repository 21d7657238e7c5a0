"""Concurrency limits: what jobs and the workflow that grants places say to each other, and what is answered of them.

A *limit* is an entity workflow of type `ConcurrencyLimit`: one for each key that jobs name in `concurrency`, and one
for each queue that somebody limited. A job *asks* it for a place, is told when it has one, and *leaves* it when its
attempt has ended.
"""

from typing import Annotated, Literal
from urllib.parse import quote, unquote

from pydantic import AwareDatetime, Field

from duetime.contracts import limits
from duetime.contracts.record import Part

#: The workflow type of a limit.
LIMIT = "ConcurrencyLimit"
#: Its signals: a job wants a place, a job needs its place no more, the limit itself was changed.
ASK, LEAVE, CHANGE = "ask", "leave", "change"
#: Its query.
LINE = "line"
#: The signal to a job: it has the place that it asked for.
PLACE = "place"
#: The workflow type of a queue's setting, which never runs, and the memo key of what it says.
QUEUE_SETTING, SETTING_MEMO = "QueueConcurrency", "concurrency"
#: The memo key of a limit's number of places.
LIMIT_MEMO = "limit"
#: The number of whatever a job asked for, for those who leave on behalf of it.
ALL_ASKS = 2**31

_KEY, _QUEUE = "duetime~limit~key~", "duetime~limit~queue~"
Scope = Literal["key", "queue"]


def limit_of_key(key: str) -> str:
    """The workflow id of a key's limit. Without a `%`, which the SDK's logger would take for a place to fill in."""
    return _KEY + quote(key, safe="").replace("%", "=")


def limit_of_queue(queue: str) -> str:
    """The workflow id of a queue's limit."""
    return _QUEUE + queue


def setting_of_queue(queue: str) -> str:
    """The workflow id of what somebody set for a queue."""
    return f"duetime~setting~concurrency~{queue}"


def queue_of_setting(setting_id: str) -> str:
    return setting_id.removeprefix(setting_of_queue(""))


def scope_of(limit_id: str) -> tuple[Scope, str]:
    """The key or the queue that a limit is about."""
    if limit_id.startswith(_QUEUE):
        return "queue", limit_id.removeprefix(_QUEUE)
    return "key", unquote(limit_id.removeprefix(_KEY).replace("=", "%"))


def chain_of(first_run_id: str) -> str:
    """What tells one submission under a job's id from the next: the end of its first run's id, which is random."""
    return first_run_id[-12:]


class Place(Part):
    """Who asks, or has a place: a job, which of those that had its id, and the how manieth time that this one asks."""

    job: Annotated[str, Field(min_length=1, max_length=1000)]
    chain: Annotated[str, Field(max_length=12)]
    number: Annotated[int, Field(ge=0)]


class Left(Place):
    """A job needs its place no more. If it `lapses`, its handler may be at work until its lease runs out."""

    lapses: bool = False


class Ask(Place):
    """`since` orders those of one priority: since when the job wants to run, in milliseconds since 1970. `limit` is how
    many places there are as this job knows it, and `limit_at` when that was said: what was said last holds. `lease` is
    in seconds."""

    priority: Annotated[int, Field(ge=limits.PRIORITY[0], le=limits.PRIORITY[1])] = 3
    since: int
    limit: Annotated[int, Field(ge=limits.CONCURRENCY[0], le=limits.CONCURRENCY[1])]
    limit_at: int
    lease: Annotated[float, Field(ge=0)] = 0.0


class Changed(Part):
    """How many places there are from now on; `None` is as many as are wanted. `at` is in milliseconds since 1970."""

    limit: Annotated[int, Field(ge=limits.CONCURRENCY[0], le=limits.CONCURRENCY[1])] | None
    at: int


class Holder(Part):
    """A job that has a place."""

    job: str
    since: AwareDatetime


class Line(Part):
    """How a limit stands, as one job sees it: `position` is 1 for the next, `None` for a job that does not wait."""

    limit: int | None
    held: int
    waiting: int
    holders: list[Holder]
    position: int | None = None
    has_place: bool = False


class QueueConcurrency(Part):
    """The concurrency limit of a queue as somebody set it."""

    limit: Annotated[int, Field(ge=limits.CONCURRENCY[0], le=limits.CONCURRENCY[1])]
    reason: str
    by: str
    since: AwareDatetime
