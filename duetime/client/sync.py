"""`SyncClient`: the same client without `await`. Each method is `Client`'s own, run in a loop of its own.

The types come along by themselves: `ParamSpec` (PEP 612) carries the parameters over, so a type checker and an editor
see the same signature, and there is no second copy to keep up.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from duetime.client.client import Client, Options
from duetime.client.pipelines import Pipelines
from duetime.client.portal import Portal

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


class _Face(Generic[C_co]):
    """The face of a client that callers see who do not await."""

    def __init__(self, client: C_co, portal: Portal) -> None:
        self._behind = client
        self._portal = portal

    @property
    def _client(self) -> C_co:
        return self._behind


def _now(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Face[C], P], T]:
    """`method`, waited for."""

    @wraps(method)
    def call(self: _Face[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._portal.call(method(self._client, *args, **kwargs))

    return call


def _each(
    method: Callable[Concatenate[C, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[_Face[C], P], Iterator[T]]:
    """The items of `method`, each waited for when it is wanted."""

    @wraps(method)
    def call(self: _Face[C], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items = method(self._client, *args, **kwargs)
        try:
            while True:
                try:
                    item = self._portal.call(_next(items))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self._portal.call(_close(items))

    return call


async def _next(items: AsyncGenerator[T, None]) -> T:
    return await anext(items)


async def _close(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()


class SyncPipelines(_Face[Pipelines]):
    """`Pipelines` for code without asyncio: `SyncClient.pipelines`."""

    submit = _now(Pipelines.submit)
    submit_spec = _now(Pipelines.submit_spec)
    get = _now(Pipelines.get)
    wait_for = _now(Pipelines.wait_for)
    list = _each(Pipelines.list)
    page = _now(Pipelines.page)
    events = _each(Pipelines.events)
    graph = _now(Pipelines.graph)
    cancel = _now(Pipelines.cancel)
    retry = _now(Pipelines.retry)


class SyncClient(_Face[Client]):
    """`Client` for code without asyncio: the same arguments, methods, answers and exceptions.

    Safe to share between threads, and between processes that fork after it was made. Close it, or use it as a context.

    >>> with SyncClient() as client:  # doctest: +SKIP
    ...     client.run("report.build", {"region": "eu"}, wait="10m")
    """

    def __init__(self, url: str | None = None, **options: Unpack[Options]) -> None:
        super().__init__(Client(url, **options), Portal("duetime-client"))
        self.pipelines = SyncPipelines(self._client.pipelines, self._portal)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections and ends the private loop. A later call opens them anew."""
        self._portal.call(self._client.close())
        self._portal.stop()

    submit = _now(Client.submit)
    submit_spec = _now(Client.submit_spec)
    batch = _now(Client.batch)
    run = _now(Client.run)
    get = _now(Client.get)
    result = _now(Client.result)
    wait_for = _now(Client.wait_for)
    jobs = _each(Client.jobs)
    page = _now(Client.page)
    count = _now(Client.count)
    events = _each(Client.events)
    kinds = _now(Client.kinds)
    move = _now(Client.move)
    run_now = _now(Client.run_now)
    cancel = _now(Client.cancel)
    retry = _now(Client.retry)

    retry_many = _now(Client.retry_many)
    cancel_many = _now(Client.cancel_many)
    operation = _now(Client.operation)
    operations = _each(Client.operations)
    run_operation = _now(Client.run_operation)
    stop_operation = _now(Client.stop_operation)
    wait_for_operation = _now(Client.wait_for_operation)

    queues = _now(Client.queues)
    queue = _now(Client.queue)
    pause_queue = _now(Client.pause_queue)
    resume_queue = _now(Client.resume_queue)
    set_queue_rate = _now(Client.set_queue_rate)
    set_queue_concurrency = _now(Client.set_queue_concurrency)
    backlog = _now(Client.backlog)
    why = _now(Client.why)
    doctor = _now(Client.doctor)
