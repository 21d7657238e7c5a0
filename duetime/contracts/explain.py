"""What pydantic found wrong, as people can act on it: a JSON pointer and a sentence with the way out."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, NotRequired, TypedDict, get_args, get_origin

from pydantic import BaseModel, ValidationError

from duetime.contracts.json_value import JsonValueError, escape_pointer
from duetime.contracts.record import cut
from duetime.contracts.wording import sentence_of

#: Enough for a person. Input made of faults alone must not keep a program busy with explaining them, nor the network
#: with telling them.
FAULTS = 100
_POINTER = 500
_MESSAGE = 1000
_LONGEST_FIELD_NAME = 64
_FAULTS_IN_A_LINE = 10
_POINTER_IN_A_LINE = 200


class Fault(TypedDict):
    """One bad field: `pointer` is RFC 6901."""

    pointer: str
    message: str
    #: Of a cron line: the character at fault, counted from 1.
    column: NotRequired[int]


def explain(error: ValidationError, model: type[BaseModel] | None = None, value: Any = None) -> list[Fault]:
    """The faults of `error`; unknown fields come with the nearest name that `model` knows.

    `value`, the JSON that was validated, keeps pointers exact where pydantic adds steps of its own (the branch of
    a union, the tag of a discriminated one).
    """
    details = error.errors(include_url=False, include_input=False)
    return bounded([explain_one(detail, model, value) for detail in details[:FAULTS]], len(details))


def bounded(faults: Sequence[Fault], total: int) -> list[Fault]:
    """The first of `faults`, and how many of all the `total` are not told."""
    more = total - FAULTS
    untold: list[Fault] = [{"pointer": "", "message": f"and {more:,} more faults"}] if more > 0 else []
    return [*faults[:FAULTS], *untold]


def _within(value: Any, steps: Sequence[Any], kind: str) -> tuple[Any, ...]:
    """The steps of `steps` that lead somewhere in `value`; a missing field leads to where it belongs."""
    kept = []
    for step in steps:
        if (isinstance(value, dict) and step in value) or (isinstance(value, list) and isinstance(step, int)):
            value = value[step]
            kept.append(step)
    return (*kept, steps[-1]) if kind == "missing" and steps else tuple(kept)


def explain_one(detail: Any, model: type[BaseModel] | None, value: Any = None) -> Fault:
    """One entry of pydantic's `errors()` as a fault."""
    if isinstance(value, dict | list):
        return _fault(detail, _within(value, detail["loc"], detail["type"]), model)
    return _fault(detail, _likely(detail["loc"], detail["type"]), model)


def _likely(steps: Sequence[Any], kind: str) -> list[Any]:
    """Without the steps that pydantic seems to have added, as far as names tell."""
    # What somebody called an unknown field may look like one of them.
    last = len(steps) - 1 if kind in ("extra_forbidden", "missing") else len(steps)
    return [step for number, step in enumerate(steps) if number == last or not _is_union_branch(step)]


def _fault(detail: Any, steps: Sequence[Any], model: type[BaseModel] | None) -> Fault:
    pointer = "".join(f"/{escape_pointer(str(step))}" for step in steps)
    message = sentence_of(detail)
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, JsonValueError):
        pointer += cause.pointer
    if detail["type"] == "extra_forbidden" and model:
        message = _unknown(str(steps[-1]), _fields(model, steps[:-1]))
    return {"pointer": cut(pointer, _POINTER), "message": cut(message, _MESSAGE)}


def _is_union_branch(step: Any) -> bool:
    """Pydantic names the branch of a union in the path (`function-after[…]`, `constrained-str`); JSON does not."""
    return isinstance(step, str) and ("[" in step or step == "constrained-str")


def _fields(model: type[BaseModel], steps: Iterable[Any]) -> list[str]:
    inner: Any = model
    for step in steps:
        if get_origin(inner) is dict:
            inner = get_args(inner)[1]
            continue
        field = inner.model_fields.get(str(step))
        inner = field.annotation if field else None
        if not _leads_on(inner):
            # That, or `None`.
            found = [one for one in get_args(inner) if _leads_on(one)]
            if len(found) != 1:
                return []
            inner = found[0]
    return [field.alias or name for name, field in inner.model_fields.items()] if _is_model(inner) else []


def _leads_on(annotation: Any) -> bool:
    return get_origin(annotation) is dict or _is_model(annotation)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches if len(name) <= _LONGEST_FIELD_NAME else None
    if close and (nearest := close(name, known, n=1, cutoff=0.5)):
        return f"unknown field; did you mean `{nearest[0]}`?"
    return (
        f"unknown field; known are {', '.join(f'`{field}`' for field in known)}" if known else "unknown field"
    )


def one_line(faults: Iterable[Fault], whole: str = "the job") -> str:
    """The first faults as one readable line, however many there are and however long their pointers.

    `whole` names what is at fault where the pointer leads to all of it.
    """
    found = list(faults)
    told = [
        f"{cut(fault['pointer'], _POINTER_IN_A_LINE) or whole}: {fault['message']}"
        for fault in found[:_FAULTS_IN_A_LINE]
    ]
    return "; ".join([*told, "and more"] if len(found) > len(told) else told)
