"""Calls made at the same time, as one: all succeed, or the first failure ends the others."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

Result = TypeVar("Result")


async def together(calls: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results in the order of `calls`; the failure of the first that fails, as it was raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
