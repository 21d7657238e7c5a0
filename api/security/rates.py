"""How often one caller may call, and how many calls it may hold open: per key, and per API instance.

A token bucket for each key, of ten seconds' worth: a burst passes, a stream above the rate does not. In this process
alone, for the API keeps no state: two instances let twice as much through, and a restart forgets.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from api.problems import Problem
from api.security.caller import Caller

#: Seconds: what a bucket holds is what flows in during this time.
WINDOW = 10

#: Seconds after which a caller with too many open calls may look again.
_SOON = 5


@dataclass
class _Bucket:
    level: float
    as_of: float


@dataclass(frozen=True)
class Allowance:
    """What a caller has left, `level` of `rate` × `WINDOW` requests."""

    rate: int
    level: float

    @property
    def headers(self) -> dict[str, str]:
        """As draft-ietf-httpapi-ratelimit-headers-10 has them."""
        capacity = self.rate * WINDOW
        left = max(0, math.floor(self.level))
        full_in = math.ceil((capacity - self.level) / self.rate)
        return {
            "RateLimit-Policy": f'"key";q={capacity};w={WINDOW}',
            "RateLimit": f'"key";r={left};t={full_in}',
        }


class Rates:
    """Counts calls against a rate: the key's own, or `rate` requests a second; 0 lets everything through."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, caller: Caller) -> Allowance | None:
        """Counts one call; a `429` problem when there is nothing left. `None` for a caller without a rate."""
        found = self._bucket(caller)
        if found is None:
            return None
        rate, bucket = found
        if bucket.level < 1:
            wait = max(1, math.ceil((1 - bucket.level) / rate))
            detail = f"more than {rate} requests a second on average; go on in {wait} s"
            headers = {"Retry-After": str(wait), **Allowance(rate, bucket.level).headers}
            raise Problem(429, "too-many-requests", "Too many requests", detail, headers=headers)
        bucket.level -= 1
        return Allowance(rate, bucket.level)

    def charge(self, caller: Caller, calls: int) -> None:
        """Counts a call that is let through as `calls` more: what is missing is missing to the calls after it."""
        found = self._bucket(caller)
        if found is not None:
            found[1].level -= calls

    def _bucket(self, caller: Caller) -> tuple[int, _Bucket] | None:
        rate = self._rate if caller.rate is None else caller.rate
        if caller.key_id is None or rate == 0:
            return None
        now, capacity = self._clock(), float(rate * WINDOW)
        bucket = self._buckets.setdefault(caller.key_id, _Bucket(capacity, now))
        bucket.level = min(capacity, bucket.level + (now - bucket.as_of) * rate)
        bucket.as_of = now
        return rate, bucket


class Waits:
    """Bounds what one key holds open at once: long polls and streams."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: Counter[str] = Counter()

    def count(self, key_id: str) -> int:
        """How many calls a key holds open."""
        return self._open[key_id]

    @contextmanager
    def hold(self, caller: Caller) -> Iterator[None]:
        """Held while the call lasts; a `429` problem when the key has as many as it may."""
        if caller.key_id is None:
            yield
            return
        if self._open[caller.key_id] >= self._limit:
            detail = f"this key waits in {self._limit} calls already: end some, or wait less long"
            headers = {"Retry-After": str(_SOON)}
            raise Problem(429, "too-many-waits", "Too many open calls", detail, headers=headers)
        self._open[caller.key_id] += 1
        try:
            yield
        finally:
            self._open[caller.key_id] -= 1
            if not self._open[caller.key_id]:
                del self._open[caller.key_id]
