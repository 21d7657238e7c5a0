"""From the schedules that are there and those that are to be to what must be done. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duetime.contracts.json_value import escape_pointer
from duetime.contracts.schedule import ScheduleSpec

_ABSENT: Any = object()


@dataclass(frozen=True)
class Difference:
    """One field: where, as it is, as it is to be; `None` for a field that is not given."""

    pointer: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Steps:
    """What must be done; ids in the order in which they were given, those to prune by name."""

    created: list[str] = field(default_factory=list)
    changed: dict[str, list[Difference]] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)


def steps_to(desired: Mapping[str, ScheduleSpec], current: Mapping[str, ScheduleSpec], prune: bool) -> Steps:
    """The steps from `current` to `desired`. A default that is spelled out makes no difference."""
    steps = Steps(pruned=sorted(current.keys() - desired.keys()) if prune else [])
    for name, spec in desired.items():
        if name not in current:
            steps.created.append(name)
        elif found := differences(current[name], spec):
            steps.changed[name] = found
        else:
            steps.unchanged.append(name)
    return steps


def differences(before: ScheduleSpec, after: ScheduleSpec) -> list[Difference]:
    """The fields in which two schedules differ."""
    return list(_differences(_meant(before), _meant(after), ""))


def _meant(spec: ScheduleSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude_defaults=True, exclude={"id"})


def _differences(before: Any, after: Any, pointer: str) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            where = f"{pointer}/{escape_pointer(name)}"
            yield from _differences(before.get(name, _ABSENT), after.get(name, _ABSENT), where)
    # `1` and `true` are equal to Python, and not the same in JSON.
    elif before != after or _types(before) != _types(after):
        yield Difference(pointer, None if before is _ABSENT else before, None if after is _ABSENT else after)


def _types(value: Any) -> Any:
    match value:
        case dict():
            return {name: _types(item) for name, item in value.items()}
        case Sequence() if not isinstance(value, str):
            return [_types(item) for item in value]
    return bool if isinstance(value, bool) else None
