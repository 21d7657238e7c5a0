"""Waiting for a job: long polls, one after the other.

The API holds a poll for a minute at most. A transport that keeps a time of its own (the fake's) is told in a note how
long the whole wait may last, and tells in turn how long it lasted. Notes are the transport's `extensions` of httpx2:
nothing of them goes over the wire.
"""

from datetime import timedelta

import httpx2

from duetime.client.call import Call, job_path
from duetime.contracts.duration import LONGEST, Duration, format_duration, parse_duration
from duetime.errors import BadSetting

#: One poll.
_POLL = timedelta(seconds=30)
_LONGEST_POLL = timedelta(seconds=60)

WHOLE_WAIT = "duetime.wait"
WAITED = "duetime.waited"


def span(name: str, value: Duration) -> timedelta:
    """A duration that the caller gave; `BadSetting` names it when it is none."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise BadSetting(f"{name}: {error}") from None


def poll(job_id: str, left: timedelta | None) -> Call:
    """One long poll of a wait for a job of which so much is left; `None` has no end."""
    return poll_at(job_path(job_id, "/result"), left)


def poll_at(path: str, left: timedelta | None) -> Call:
    """The same for what is at this path."""
    held = _POLL if left is None else min(left, _LONGEST_POLL)
    return Call(
        "GET",
        path,
        query={"wait": format_duration(held)},
        wait=held,
        notes={WHOLE_WAIT: LONGEST if left is None else left},
    )


def waited(call: Call, response: httpx2.Response, elapsed: timedelta) -> timedelta:
    """How long a poll that found no final job lasted: as long as it was told, by the API's clock if not by ours."""
    told = response.extensions.get(WAITED, call.wait)
    assert isinstance(told, timedelta)
    return max(told, elapsed)
