"""A failure as text: whatever a handler raises becomes a type, a message and a stack of safe length.

Objects never travel: an exception that cannot be rebuilt elsewhere (or whose own `__str__` raises) must not take
the job with it. The engine drops a failure of more than 4 MB and lets the attempt hang instead.
"""

import re
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError
from temporalio.exceptions import ApplicationError

from duetime.contracts import limits
from duetime.contracts.explain import explain, one_line
from duetime.contracts.json_value import sendable
from duetime.contracts.record import Error, cut
from duetime.contracts.states import ErrorType
from duetime.outcomes import Reject

_RUNTIME = Path(__file__).parent
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def describe(error: BaseException) -> Error:
    """`error` as text; never raises."""
    return Error(
        type=_clean(_type_name(error), limits.ERROR_TYPE_LENGTH),
        message=_clean(_message(error), limits.ERROR_MESSAGE_LENGTH),
        stack=_stack(error),
    )


def invalid_payload(kind: str, error: ValidationError, payload: Any) -> Error:
    """The payload does not fit the handler's model: final, since no retry changes it."""
    found = explain(error, value=payload)
    faults = one_line([{**fault, "pointer": f"/payload{fault['pointer']}"} for fault in found])
    message = f"the handler of {kind!r} cannot take this payload: {faults}"
    return Error(type=ErrorType.INVALID_PAYLOAD, message=_clean(message, limits.ERROR_MESSAGE_LENGTH))


def _type_name(error: BaseException) -> str:
    if isinstance(error, Reject):
        return ErrorType.REJECTED
    if isinstance(error, ApplicationError) and error.type:
        return error.type
    return type(error).__name__


def _message(error: BaseException) -> str:
    try:
        return error.message if isinstance(error, ApplicationError) else str(error)
    except BaseException as fault:
        return f"(its text cannot be had: {type(fault).__name__})"


def _stack(error: BaseException) -> str:
    frames = _own_frames(error.__traceback__)
    try:
        # Frames first, then what was raised, and what it came from.
        text = "".join(traceback.format_exception(type(error), error, frames, limit=-30))
    except BaseException:
        text = "".join(traceback.format_tb(frames, limit=-30))
    text = _readable(text)
    if len(text) <= limits.ERROR_STACK_LENGTH:
        return text
    # An exception with megabytes of text repeats them at the end of its stack: keep the frames.
    return _readable("".join(traceback.format_tb(frames, limit=-30)))[-limits.ERROR_STACK_LENGTH :]


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """Without the frames of the runtime that called the handler."""
    while frames is not None and Path(frames.tb_frame.f_code.co_filename).parent == _RUNTIME:
        frames = frames.tb_next
    return frames


def _clean(text: Any, length: int) -> str:
    return cut(_readable(str(text)), length)


def _readable(text: str) -> str:
    """Text that any terminal and any log can show: no control characters but line ends and tabs."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", sendable(text))
