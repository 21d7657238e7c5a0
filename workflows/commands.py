"""Updates that are refused readably, whatever they are sent with.

An exception in a handler that is no failure of Temporal's fails the workflow task, again and again, and nothing else
gets through to the workflow then. So what an update is given is read before it is accepted, by its validator.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from duetime.contracts import limits
from duetime.contracts.explain import explain, one_line
from duetime.contracts.json_value import check_json, sendable
from duetime.contracts.record import cut
from workflows.raw import plain, raw

#: Bytes of JSON that most commands may have. What is told goes into the memo, for which the engine has 2 MB: a workflow
#: that is over them is ended.
_MOST = 16 * 1024


def command(
    name: str,
    takes: Any = None,
    *,
    check: Callable[..., None] | None = None,
    most: int = _MOST,
    policy: workflow.HandlerUnfinishedPolicy = workflow.HandlerUnfinishedPolicy.WARN_AND_ABANDON,
) -> Callable[[Callable[..., Any]], Any]:
    """The update `name`: the decorated method gets its one argument as the type `takes`; none where that is `None`.

    `check`, with the same arguments, may refuse it too before it is accepted. Type `InvalidArgument` is for one that
    cannot be read.
    """
    reader = TypeAdapter(takes) if takes is not None else None

    def read(arguments: Sequence[RawValue]) -> list[Any]:
        try:
            return _read(arguments, reader, takes, most)
        except Exception as fault:  # whatever a model makes of it
            says = cut(sendable(f"the update {name!r}: {fault}"), limits.ERROR_MESSAGE_LENGTH)
            raise ApplicationError(says, type="InvalidArgument", non_retryable=True) from None

    def decorate(carry_out: Callable[..., Any]) -> Any:
        def validator(self: Any, *given: Any) -> None:
            if check is not None:
                check(self, *given)

        taken = workflow.update(name=name, unfinished_policy=policy)(raw(carry_out, read))
        taken.validator(raw(validator, read))
        return taken

    return decorate


def _read(arguments: Sequence[RawValue], reader: TypeAdapter[Any] | None, takes: Any, most: int) -> list[Any]:
    if reader is None:
        if arguments:
            raise ValueError(f"takes no argument; there are {len(arguments)}")
        return []
    if len(arguments) > 1:
        raise ValueError(f"takes one argument; there are {len(arguments)}")
    value = plain(arguments[0]) if arguments else None
    check_json(value, most)
    try:
        return [reader.validate_python(value)]
    except ValidationError as error:
        if not arguments:
            raise ValueError("takes one argument, as JSON; there is none") from None
        model = takes if isinstance(takes, type) and issubclass(takes, BaseModel) else None
        raise ValueError(one_line(explain(error, model, value), "its argument")) from None
