"""An API that tells the backlog wrong on purpose; `FAULTS_BREAK` says how."""

import os
import sys
from collections.abc import Set
from typing import Any

from api.queues import shared, views
from api.queues.buckets import Bucket
from api.queues.census import Census, Key
from duetime.contracts.queues import Backlog

_tally, _sum = Census.tally, views._sum


def forget(self: Census, key: Key, paused: Set[str]) -> dict[str | None, dict[Bucket, int]]:
    """Jobs that wait for others are nowhere."""
    return {name: counts | {Bucket.WAITING: 0} for name, counts in _tally(self, key, paused).items()}


def misplace(self: Census, key: Key, paused: Set[str]) -> dict[str | None, dict[Bucket, int]]:
    """Jobs that wait for others are told to be late."""
    return {
        name: counts | {Bucket.OVERDUE: counts[Bucket.OVERDUE] + counts[Bucket.WAITING], Bucket.WAITING: 0}
        for name, counts in _tally(self, key, paused).items()
    }


def with_a_rest(parts: Any) -> Backlog:
    """A job more than the groups have."""
    total = _sum(parts)
    return total.model_copy(update={"queued": total.queued + 1})


class Stale(shared.Shared[Any]):
    """The first look for ever."""

    async def get(self, max_age: float = 0.0) -> Any:
        return await super().get(1e9)


def lie(how: str) -> None:
    match how:
        case "backlog-forgets":
            Census.tally = forget  # type: ignore[method-assign]
        case "backlog-misplaces":
            Census.tally = misplace  # type: ignore[method-assign]
        case "backlog-rest":
            views._sum = with_a_rest
        case "backlog-stale":
            from api.queues import board

            board.Shared = Stale  # type: ignore[misc]
        case _:
            raise ValueError(how)


if __name__ == "__main__":
    lie(os.environ["FAULTS_BREAK"])
    sys.argv = ["api"]
    from runpy import run_module

    run_module("api", run_name="__main__")
