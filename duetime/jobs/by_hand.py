"""Jobs that somebody started without the API: what can be told of an input that is no job."""

from typing import Any

from pydantic import ValidationError

from duetime.contracts import limits
from duetime.contracts.job import JobSpec
from duetime.contracts.record import cut

UNKNOWN = "unknown"


def as_far_as_readable(value: Any) -> JobSpec:
    """A job of the fields of `value` that are right; its kind is what `value` says, however wrong."""
    given = value if isinstance(value, dict) else {}
    kept: dict[str, Any] = {"kind": UNKNOWN}
    for name in JobSpec.model_fields:
        if name in given and _is_right({**kept, name: given[name]}):
            kept[name] = given[name]
    kind = given.get("kind")
    shown = cut(kind, limits.KIND_LENGTH) if isinstance(kind, str) and kind else UNKNOWN
    return JobSpec.model_validate(kept).model_copy(update={"kind": shown})


def _is_right(fields: dict[str, Any]) -> bool:
    try:
        JobSpec.model_validate(fields)
    except ValidationError:
        return False
    return True
