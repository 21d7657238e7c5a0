"""Workflows of a name that take whatever they are started with, as it came."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from temporalio.common import RawValue

Function = TypeVar("Function", bound=Callable[..., Any])

_ONE = inspect.Signature(
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("argument", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=RawValue),
    ]
)


def raw(function: Function) -> Function:
    """`function(self, *arguments)` for the SDK, which decodes what a workflow of a name is given.

    One argument comes as a `RawValue`, more or fewer as plain JSON. Bad input so becomes a readable failure, where the
    SDK by itself would try the workflow task for ever.
    """
    setattr(function, "__signature__", _ONE)  # noqa: B010
    function.__annotations__ = {"argument": RawValue}
    return function
