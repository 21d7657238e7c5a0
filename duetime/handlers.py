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
from types import ModuleType
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from duetime.contracts.explain import explain, one_line
from duetime.contracts.job import JobSpec

Function = TypeVar("Function", bound=Callable[..., Any])
Heartbeat = Literal["auto", "manual"]

_ATTRIBUTE = "__duetime_handler__"


class HandlerFault(ValueError):
    """A function that cannot be a handler, or handlers that do not go together. Found when a program starts."""


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

    def checked(self) -> "Handler":
        """Itself; `HandlerFault` when the annotation of its payload cannot be used."""
        try:
            self.payload  # noqa: B018
        except Exception as error:
            raise HandlerFault(
                f"the payload's annotation in the handler of {self.kind!r} cannot be used: {error}"
            ) from error
        return self


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
    `job.heartbeat`), so that a hung handler loses it. Raises `HandlerFault` for a bad default at import time.

    >>> @handler("report.build", timeout="1h")
    ... def build(payload: dict) -> dict:
    ...     return {"pages": 3}
    """
    given = {"lease": lease, "timeout": timeout, "retry": dict(retry) if retry else None}
    defaults = {name: value for name, value in given.items() if value is not None}
    try:
        JobSpec.model_validate({"kind": kind, **defaults})
    except ValidationError as error:
        raise HandlerFault(f"@handler({kind!r}): {one_line(explain(error, JobSpec))}") from None
    if heartbeat not in get_args(Heartbeat):
        raise HandlerFault(f"@handler({kind!r}): /heartbeat: is 'auto' or 'manual', not {heartbeat!r}")

    def register(function: Function) -> Function:
        if fault := _fault_of(function):
            raise HandlerFault(f"@handler({kind!r}): {fault}")
        setattr(function, _ATTRIBUTE, Handler(kind, function, heartbeat, defaults))
        return function

    return register


def _fault_of(function: Any) -> str | None:
    """Why this cannot be a handler, where that can be known before it runs."""
    if inspect.isclass(function) or not callable(function):
        return "goes on a function"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "a generator gives no result: return it, and show the way there with job.progress"
    if not inspect.iscoroutinefunction(function) and inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    ):
        return "goes on an `async def` function, not on an object that is called like one"
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(named) != len(parameters) or not 1 <= len(named) <= 2:
        return f"takes (payload) or (payload, job), not {inspect.signature(function)}"
    already = getattr(function, _ATTRIBUTE, None)
    if isinstance(already, Handler) and already.function is function:
        return f"serves {already.kind!r} already: one function, one kind"
    return None


def handler_of(function: Any) -> Handler | None:
    """The handler that `@handler` made of this function.

    Raises `HandlerFault` for a decorator around `@handler`, which its jobs would go past.
    """
    found = getattr(function, _ATTRIBUTE, None)
    if not isinstance(found, Handler):
        return None
    if found.function is not function:
        raise HandlerFault(f"@handler({found.kind!r}) must be the outermost decorator")
    return found


def find_handlers(sources: Iterable[Any]) -> dict[str, Handler]:
    """The handlers by kind of `sources`: functions, modules, or names of modules to import.

    Raises `HandlerFault` when two serve one kind, when a function is no handler, a module has none, or the payload's
    annotation is nothing that can be validated.
    """
    found: dict[str, Handler] = {}
    for source in sources:
        for item in _handlers_in(source):
            if item.kind in found and found[item.kind].function is not item.function:
                raise HandlerFault(f"two handlers serve the kind {item.kind!r}")
            found[item.kind] = item.checked()
    return found


def _handlers_in(source: Any) -> list[Handler]:
    if isinstance(source, Handler):
        return [source]
    if single := handler_of(source):
        return [single]
    if callable(source):
        raise HandlerFault(f"{source!r} is not a handler: decorate it with @handler")
    module = _import(source) if isinstance(source, str) else source
    if not inspect.ismodule(module):
        raise HandlerFault(f"{source!r} is neither a handler nor a module")
    handlers = [item for item in map(handler_of, vars(module).values()) if item]
    if not handlers:
        raise HandlerFault(f"the module {module.__name__} has no @handler function")
    return handlers


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise HandlerFault(f"there is no module {error.name!r}") from None
        raise  # one that the module itself imports
