"""`@handler`: the code registered for a kind.

A handler is a function of one or two arguments: the payload (a pydantic model, a dataclass, a `dict`: whatever
its annotation says, validated before the handler runs) and, if it wants it, the `Job`. `async def` runs on the
event loop, `def` in a thread.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import TypeAdapter

from duetime.contracts.job import JobSpec

Function = TypeVar("Function", bound=Callable[..., Any])
Heartbeat = Literal["auto", "manual"]

_ATTRIBUTE = "__duetime_handler__"


@dataclass(frozen=True)
class Handler:
    """A function and the kind it serves, with the defaults that submissions of this kind get."""

    kind: str
    function: Callable[..., Any]
    heartbeat: Heartbeat = "auto"
    #: Fields of a submission, as on the wire: `timeout`, `lease`, `retry`.
    defaults: Mapping[str, Any] | None = None

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def wants_job(self) -> bool:
        return len(inspect.signature(self.function).parameters) > 1

    @cached_property
    def payload(self) -> TypeAdapter[Any]:
        """Validates the payload; `dict[str, Any]` when the handler's first argument has no annotation."""
        parameters = list(inspect.signature(self.function).parameters)
        hints = get_type_hints(self.function)
        return TypeAdapter(hints.get(parameters[0], dict[str, Any]) if parameters else dict[str, Any])

    @property
    def description(self) -> str:
        return inspect.getdoc(self.function) or ""


def handler(
    kind: str,
    *,
    lease: str | float | None = None,
    timeout: str | float | None = None,
    retry: Mapping[str, Any] | None = None,
    heartbeat: Heartbeat = "auto",
) -> Callable[[Function], Function]:
    """Registers a function as the handler of `kind`.

    `lease`, `timeout` and `retry` are what a job of this kind has when its submission does not say. With
    `heartbeat="manual"` the lease is kept by the handler's own calls (`job.progress`, `job.save_checkpoint`,
    `job.heartbeat`), so that a hung handler loses it. Raises `ValueError` for a bad default at import time.

    >>> @handler("report.build", timeout="1h")
    ... def build(payload: dict) -> dict:
    ...     return {"pages": 3}
    """
    given = {"lease": lease, "timeout": timeout, "retry": dict(retry) if retry else None}
    defaults = {name: value for name, value in given.items() if value is not None}
    JobSpec.model_validate({"kind": kind, **defaults})

    def register(function: Function) -> Function:
        found = Handler(kind, function, heartbeat, defaults)
        parameters = inspect.signature(function).parameters
        if not 1 <= len(parameters) <= 2:
            raise TypeError(
                f"the handler of {kind!r} takes (payload) or (payload, job), not {len(parameters)}"
            )
        setattr(function, _ATTRIBUTE, found)
        return function

    return register


def handler_of(function: Any) -> Handler | None:
    """The handler that `@handler` made of this function."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Handler) else None


def find_handlers(sources: Iterable[Any]) -> dict[str, Handler]:
    """The handlers by kind of `sources`: functions, modules, or names of modules to import.

    Raises `ValueError` when two serve one kind, when a function is no handler, or a module has none.
    """
    found: dict[str, Handler] = {}
    for source in sources:
        for item in _handlers_in(source):
            if item.kind in found and found[item.kind].function is not item.function:
                raise ValueError(f"two handlers serve the kind {item.kind!r}")
            found[item.kind] = item
    return found


def _handlers_in(source: Any) -> list[Handler]:
    if isinstance(source, Handler):
        return [source]
    if single := handler_of(source):
        return [single]
    if callable(source):
        raise ValueError(f"{source!r} is not a handler: decorate it with @handler")
    module = importlib.import_module(source) if isinstance(source, str) else source
    handlers = [item for item in map(handler_of, vars(module).values()) if item]
    if not handlers:
        raise ValueError(f"the module {module.__name__} has no @handler function")
    return handlers
