"""What pydantic found wrong, as people can act on it: a JSON pointer and a sentence with the way out."""

import difflib
from collections.abc import Iterable
from typing import Any, TypedDict

from pydantic import BaseModel, ValidationError

from duetime.contracts.json_value import JsonValueError, escape_pointer


class Fault(TypedDict):
    """One bad field: `pointer` is RFC 6901."""

    pointer: str
    message: str


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> list[Fault]:
    """The faults of `error`; unknown fields come with the nearest name that `model` knows."""
    return [explain_one(detail, model) for detail in error.errors(include_url=False, include_input=False)]


def explain_one(detail: Any, model: type[BaseModel] | None) -> Fault:
    """One entry of pydantic's `errors()` as a fault."""
    steps = [step for step in detail["loc"] if not _is_union_branch(step)]
    pointer = "".join(f"/{escape_pointer(str(step))}" for step in steps)
    message = str(detail["msg"]).removeprefix("Value error, ")
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, JsonValueError):
        pointer += cause.pointer
    if detail["type"] == "extra_forbidden" and model:
        message = _unknown(str(steps[-1]), _fields(model, steps[:-1]))
    elif detail["type"] == "missing":
        message = "is required"
    return {"pointer": pointer, "message": message}


def _is_union_branch(step: Any) -> bool:
    """Pydantic names the branch of a union in the path (`function-after[…]`, `constrained-str`); JSON does not."""
    return isinstance(step, str) and ("[" in step or step == "constrained-str")


def _fields(model: type[BaseModel], steps: Iterable[Any]) -> list[str]:
    for step in steps:
        field = model.model_fields.get(str(step))
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _unknown(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if nearest:
        return f"unknown field; did you mean `{nearest[0]}`?"
    return (
        f"unknown field; known are {', '.join(f'`{field}`' for field in known)}" if known else "unknown field"
    )


def one_line(faults: Iterable[Fault]) -> str:
    """All faults as one readable line."""
    return "; ".join(f"{fault['pointer'] or 'the job'}: {fault['message']}" for fault in faults)
