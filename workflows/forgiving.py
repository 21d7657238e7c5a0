"""Signal handlers that leave aside what they cannot take.

Whoever sends a signal gets no answer, and an exception in a handler would fail the workflow task again and again.
"""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from temporalio import workflow

from duetime.contracts import limits
from duetime.contracts.explain import explain, one_line
from duetime.contracts.json_value import sendable
from duetime.contracts.record import cut


def forgiving(take: Callable[..., None]) -> Callable[..., None]:
    """`take`, called with whatever arguments the signal has."""

    # Without the signature of `take`: the SDK would not call it with fewer or more arguments, but raise.
    def signal(self: Any, *arguments: Any) -> None:
        try:
            take(self, *arguments)
        except Exception as fault:
            workflow.logger.warning(
                "a signal %r that is none was left aside: %s", take.__name__, _says(fault)
            )

    signal.__name__, signal.__doc__ = take.__name__, take.__doc__
    return signal


def _says(fault: Exception) -> str:
    """Without what was given, which may be a secret or of any length."""
    if isinstance(fault, ValidationError):
        return one_line(explain(fault), "its argument")
    return cut(sendable(str(fault)), limits.BRIEF_MESSAGE_LENGTH)
