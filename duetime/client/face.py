"""A client without `await`: each method is the asynchronous one's own, run in a loop of its own.

The types come along by themselves: `ParamSpec` (PEP 612) carries the parameters over, so a type checker and an editor
see the same signature, and there is no second copy to keep up.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from duetime.client.portal import Portal, items_of

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


class Face(Generic[C_co]):
    """The face of a client that callers see who do not await."""

    def __init__(self, client: C_co, portal: Portal) -> None:
        self._behind = client
        self._portal = portal

    @property
    def _client(self) -> C_co:
        return self._behind


def now(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Face[C], P], T]:
    """`method`, waited for."""

    @wraps(method)
    def call(self: Face[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._portal.call(method(self._client, *args, **kwargs))

    return call


def each(
    method: Callable[Concatenate[C, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Face[C], P], Iterator[T]]:
    """The items of `method`, each waited for when it is wanted."""

    @wraps(method)
    def call(self: Face[C], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return items_of(self._portal, method(self._client, *args, **kwargs))

    return call
