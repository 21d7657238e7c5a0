"""What somebody gives a workflow of a name, or an update, as it came: nothing of it is read before our own code does.

The SDK decodes by type hints what has as many arguments as there are hints, and everything else without any. What it
cannot decode fails the workflow task, which is then tried for ever. One argument as a `RawValue` is never decoded; so
`workflows.runner` hands several over in one, and here they are told apart again.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from typing import Any

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.common import RawValue

from duetime.contracts.json_value import parse_json

_SEVERAL = b"duetime/several"
_ONE = inspect.Signature(
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("argument", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=RawValue),
    ]
)


def raw(
    function: Callable[..., Any],
    read: Callable[[list[RawValue]], Sequence[Any]] = lambda arguments: arguments,
) -> Callable[..., Any]:
    """`function(self, *arguments)` for the SDK: what `read` makes of the arguments, each of which it gets as a
    `RawValue`, however many there are."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def taking(self: Any, *arguments: RawValue) -> Any:
            return await function(self, *read(_apart(arguments)))

    else:

        @functools.wraps(function)
        def taking(self: Any, *arguments: RawValue) -> Any:
            return function(self, *read(_apart(arguments)))

    setattr(taking, "__signature__", _ONE)  # noqa: B010
    taking.__annotations__ = {"argument": RawValue}
    return taking


def bundle(payloads: MutableSequence[Payload]) -> None:
    """Several arguments as one, in place."""
    if len(payloads) > 1:
        data = Payloads(payloads=payloads).SerializeToString()
        del payloads[:]
        payloads.append(Payload(metadata={"encoding": _SEVERAL}, data=data))


def _apart(arguments: Iterable[RawValue]) -> list[RawValue]:
    # One that somebody made up comes to no more than giving what is in it one by one.
    return [each for argument in arguments for each in _unbundled(argument)]


def _unbundled(argument: RawValue) -> list[RawValue]:
    if argument.payload.metadata.get("encoding") != _SEVERAL:
        return [argument]
    try:
        return [RawValue(payload) for payload in Payloads.FromString(argument.payload.data).payloads]
    except Exception:  # made up, and badly
        return [argument]


def encoding_of(argument: RawValue) -> str:
    """As the payload's metadata names it; empty when it does not."""
    return argument.payload.metadata.get("encoding", b"").decode("ascii", "replace")


def plain(argument: RawValue) -> Any:
    """The argument as JSON; `ValueError` says why it is none, in text that can be sent."""
    encoding = encoding_of(argument)
    if encoding == "binary/null":
        return None
    if encoding != "json/plain":
        raise ValueError(f"give it as JSON (json/plain), not {encoding[:100] or 'without encoding'}")
    try:
        return parse_json(argument.payload.data)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
