"""References in payloads: `{"$result": "name.path"}`, and `{"$item": "path"}` in a job that runs for each item.

A reference is an object with that one member. A path goes down by keys of objects and indexes of lists, divided by
dots; an empty one is the whole value.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from duetime.contracts.json_value import escape_pointer

RESULT, ITEM = "$result", "$item"


class BadReference(ValueError):
    """A reference that leads nowhere, or is none; the text says why."""


@dataclass(frozen=True)
class Reference:
    """One reference: `$result` or `$item` as `marker`, the job of a `$result`, and where it stands (RFC 6901)."""

    marker: str
    name: str
    path: tuple[str, ...]
    pointer: str = ""

    def __str__(self) -> str:
        return ".".join([self.name, *self.path] if self.marker == RESULT else self.path)

    def follow(self, value: Any) -> Any:
        """What lies at its path in `value`; `BadReference` when nothing does."""
        for depth, step in enumerate(self.path):
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and _is_index(step) and int(step) < len(value):
                value = value[int(step)]
            else:
                raise BadReference(f"{self!s}: {_why_not(value, step, depth, self)}")
        return value


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) < 10


def _why_not(value: Any, step: str, depth: int, reference: Reference) -> str:
    whole = f"the result of {reference.name!r}" if reference.marker == RESULT else "the item"
    where = f"{'.'.join(reference.path[:depth])!r} in {whole}" if depth else whole
    match value:
        case dict():
            return f"{where} has no member {step!r}"
        case list():
            return f"{where} is a list of {len(value)} and has no item {step!r}"
        case None:
            return f"{where} is null and has no {step!r}"
    return f"{where} is no object or list and has no {step!r}"


def is_reference(value: Any) -> bool:
    """Whether an object is meant as a reference, well made or not."""
    return isinstance(value, dict) and (RESULT in value or ITEM in value)


def parse_reference(value: dict[str, Any], pointer: str = "") -> Reference:
    """The reference that the object is; `BadReference` when it is badly made."""
    marker = RESULT if RESULT in value else ITEM
    told = value[marker]
    if len(value) > 1:
        raise BadReference(f"an object with {marker!r} is a reference and has no other member")
    if not isinstance(told, str):
        example = "name.path" if marker == RESULT else "path"
        raise BadReference(f'{marker!r} takes text, as in {{"{marker}": "{example}"}}')
    steps = told.split(".") if told else []
    if "" in steps or (marker == RESULT and not steps):
        raise BadReference(f"{told!r} has an empty part")
    if marker == ITEM:
        return Reference(ITEM, "", tuple(steps), pointer)
    return Reference(RESULT, steps[0], tuple(steps[1:]), pointer)


def find(value: Any, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in `value` that is meant as a reference, with the pointer to it."""
    left = [(pointer, value)]
    while left:
        here, found = left.pop()
        if isinstance(found, dict):
            if is_reference(found):
                yield here, found
            else:
                left += [(f"{here}/{escape_pointer(str(key))}", item) for key, item in found.items()]
        elif isinstance(found, list):
            left += [(f"{here}/{index}", item) for index, item in enumerate(found)]


def references(value: Any) -> list[Reference]:
    """The references in `value`; `BadReference` when one of them is badly made."""
    return [parse_reference(found, pointer) for pointer, found in find(value)]


def resolve(value: Any, look_up: Callable[[Reference], Any]) -> Any:
    """`value` with what `look_up` gives in place of each reference; what comes in is not looked at again."""
    if isinstance(value, dict):
        if is_reference(value):
            return look_up(parse_reference(value))
        return {key: resolve(item, look_up) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, look_up) for item in value]
    return value
