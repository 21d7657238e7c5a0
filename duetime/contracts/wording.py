"""What pydantic says of a bad value, in words that do not presume Python: what it must be, and the bound.

Types without an entry here keep pydantic's sentence; those that our own validators raise are ours already.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

#: Letters, digits and some signs, repeated, and nothing else: what all names of ours are.
_OF_NAMES = re.compile(r"\^\[A-Za-z0-9((?:[_.:~/]|\\?-)+)\]\+\$")

Bounds = Mapping[str, Any]


def _of_a_pattern(bounds: Bounds) -> str:
    found = _OF_NAMES.fullmatch(str(bounds["pattern"]))
    if found is None:
        return f"must match the regular expression {bounds['pattern']}"
    signs = " ".join(found[1].replace("\\", ""))
    return f"may hold letters, digits and {signs} only"


def _number(bound: object) -> str:
    """A bound; models of handlers may have some that are no numbers, of which pydantic tells the text."""
    if isinstance(bound, float) and bound.is_integer():
        bound = int(bound)
    return f"{bound:,}" if isinstance(bound, int) else str(bound)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _at_least(bounds: Bounds, word: str) -> str:
    return f"must have at least {_counted(int(bounds['min_length']), word)}"


def _at_most(bounds: Bounds, word: str) -> str:
    return f"must have at most {_counted(int(bounds['max_length']), word)}"


def _one_of(bounds: Bounds) -> str:
    return f"must be one of {', '.join(str(bounds['expected']).rsplit(' or ', 1))}"


_WORDS: dict[str, Callable[[Bounds], str]] = {
    "string_type": lambda _: "must be a string",
    "string_unicode": lambda _: "must be a string of Unicode, without lone surrogates",
    "string_pattern_mismatch": _of_a_pattern,
    "string_too_short": lambda bounds: _at_least(bounds, "character"),
    "string_too_long": lambda bounds: _at_most(bounds, "character"),
    "dict_type": lambda _: "must be an object",
    "mapping_type": lambda _: "must be an object",
    "model_type": lambda _: "must be an object",
    "model_attributes_type": lambda _: "must be an object",
    "dataclass_type": lambda _: "must be an object",
    "list_type": lambda _: "must be a list",
    "tuple_type": lambda _: "must be a list",
    "too_short": lambda bounds: _at_least(bounds, "item"),
    "too_long": lambda bounds: _at_most(bounds, "item"),
    "int_type": lambda _: "must be a whole number",
    "int_from_float": lambda _: "must be a whole number",
    "int_parsing": lambda _: "must be a whole number",
    "int_parsing_size": lambda _: "is too large a number",
    "float_type": lambda _: "must be a number",
    "float_parsing": lambda _: "must be a number",
    "finite_number": lambda _: "must be a finite number",
    "bool_type": lambda _: "must be true or false",
    "bool_parsing": lambda _: "must be true or false",
    "greater_than_equal": lambda bounds: f"must be at least {_number(bounds['ge'])}",
    "greater_than": lambda bounds: f"must be greater than {_number(bounds['gt'])}",
    "less_than_equal": lambda bounds: f"must be at most {_number(bounds['le'])}",
    "less_than": lambda bounds: f"must be less than {_number(bounds['lt'])}",
    "enum": _one_of,
    "literal_error": _one_of,
    "extra_forbidden": lambda _: "unknown field",
    "missing": lambda _: "is required",
}


def sentence_of(detail: Mapping[str, Any]) -> str:
    """One entry of pydantic's `errors()` as a sentence about the field: `must be a list`."""
    words = _WORDS.get(str(detail["type"]))
    if words is None:
        return str(detail["msg"]).removeprefix("Value error, ")
    return words(detail.get("ctx") or {})
