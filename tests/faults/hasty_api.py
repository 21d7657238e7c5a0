"""An API with a mistake in it, made on purpose: it says that a job is accepted before the job is durable."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import api.jobs.submission as submission

_begin = submission.begin
_later: set[asyncio.Task[Any]] = set()


async def hasty_begin(*arguments: Any) -> Any:
    async def begin() -> None:
        await asyncio.sleep(1)
        await _begin(*arguments)

    task = asyncio.create_task(begin())
    _later.add(task)
    task.add_done_callback(_later.discard)
    return SimpleNamespace(first_execution_run_id="soon")


if __name__ == "__main__":
    submission.begin = hasty_begin
    sys.argv = ["api"]
    from runpy import run_module

    run_module("api", run_name="__main__")
