"""`SyncClient.schedules`: the same without `await`."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from duetime.client.portal import Portal, items_of
from duetime.client.schedules import Schedules

P = ParamSpec("P")
T = TypeVar("T")


def _now(
    method: Callable[Concatenate[Schedules, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["SyncSchedules", P], T]:
    """`method`, waited for."""

    @wraps(method)
    def call(self: "SyncSchedules", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._portal.call(method(self._schedules, *args, **kwargs))

    return call


def _each(
    method: Callable[Concatenate[Schedules, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate["SyncSchedules", P], Iterator[T]]:
    """The items of `method`, each waited for when it is wanted."""

    @wraps(method)
    def call(self: "SyncSchedules", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return items_of(self._portal, method(self._schedules, *args, **kwargs))

    return call


class SyncSchedules:
    """`Schedules` for code without asyncio: the same arguments, methods, answers and exceptions."""

    def __init__(self, schedules: Schedules, portal: Portal) -> None:
        self._schedules = schedules
        self._portal = portal

    put = _now(Schedules.put)
    get = _now(Schedules.get)
    delete = _now(Schedules.delete)
    page = _now(Schedules.page)
    list = _each(Schedules.list)
    apply = _now(Schedules.apply)
    preview = _now(Schedules.preview)
    forecast = _now(Schedules.forecast)
    occurrences = _each(Schedules.occurrences)
    pause = _now(Schedules.pause)
    resume = _now(Schedules.resume)
    trigger = _now(Schedules.trigger)
    skip = _now(Schedules.skip)
    backfill = _now(Schedules.backfill)
