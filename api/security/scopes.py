"""What a route demands of its caller, stated on the route itself.

A route that states nothing cannot be made: forgetting the lock fails at import, not in production.

>>> @needs(Scope.READ)
... async def read() -> None: ...
>>> demand_of(read).scope
<Scope.READ: 'read'>
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_DEMAND = "__duetime_demand__"


class Scope(StrEnum):
    """What a key is for."""

    #: Submit jobs.
    SUBMIT = "submit"
    #: Read jobs, schedules, queues, kinds.
    READ = "read"
    #: Change, cancel and redrive jobs; pause queues; keep schedules. Sees what it changes: includes `read`.
    OPERATE = "operate"
    #: Everything.
    ADMIN = "admin"


_INCLUDES = {
    Scope.OPERATE: {Scope.OPERATE, Scope.READ},
    Scope.ADMIN: set(Scope),
}


def granted(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """`scopes` with those that they include."""
    return frozenset().union(*(_INCLUDES.get(scope, {scope}) for scope in scopes))


@dataclass(frozen=True)
class Demand:
    """What a route asks of its caller; a `scope` of `None` lets everyone in, without a key."""

    scope: Scope | None
    #: Calls last: each counts against what one caller may hold open at once, until its answer is sent.
    holds: bool = False
    #: The answer covers all queues and kinds, so a key that is bound to some cannot have it.
    covers_all: bool = False


def needs(scope: Scope, *, holds: bool = False, covers_all: bool = False) -> Callable[[Endpoint], Endpoint]:
    """States what a route demands. Stands under the route's own decorator."""

    def state(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _DEMAND, Demand(scope, holds, covers_all))
        return endpoint

    return state


def public(endpoint: Endpoint) -> Endpoint:
    """States that a route is for everyone, without a key."""
    setattr(endpoint, _DEMAND, Demand(None))
    return endpoint


def demand_of(endpoint: Callable[..., Any]) -> Demand:
    """What `endpoint` states; `TypeError` when it states nothing."""
    found = getattr(endpoint, _DEMAND, None)
    if not isinstance(found, Demand):
        name = f"{endpoint.__module__}.{getattr(endpoint, '__name__', endpoint)}"
        raise TypeError(
            f"{name} states no scope: put @needs(Scope.…), or @public, between the route's decorator and `def`"
        )
    return found
