"""What a workflow of our own is started with, when it takes one argument or none (`workflows.raw`)."""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue


def one_argument(arguments: Sequence[RawValue]) -> Any:
    """The value of the one argument, `None` when there is none; `ValueError` for more, and for what cannot be read."""
    if not arguments:
        return None
    if len(arguments) > 1:
        raise ValueError(f"one argument at most, not {len(arguments)}")
    return value_of(arguments[0])


def value_of(argument: RawValue) -> Any:
    """The value of an argument; `ValueError` when it cannot be read."""
    try:
        return workflow.payload_converter().from_payload(argument.payload)
    except Exception as fault:  # whatever a converter makes of somebody's bytes
        raise ValueError(f"not JSON: {fault}") from None
