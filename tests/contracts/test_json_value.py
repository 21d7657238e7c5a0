"""What may travel as a payload, a result or a checkpoint."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.contrib.pydantic import pydantic_data_converter

from duetime.contracts.json_value import JsonTooLarge, JsonValueError, check_json, escape_pointer

MANY = 1_000_000


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth - 1):
        value = [value]
    return value


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_what_is_accepted_comes_through_the_engine_unchanged(value: Any) -> None:
    assert check_json(value, MANY) == len(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    )
    payload = pydantic_data_converter.payload_converter.to_payload(value)
    came = pydantic_data_converter.payload_converter.from_payload(payload)
    assert came == value and json.dumps(came) == json.dumps(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"": ""},
        {"nul": "a\x00b", "k\x00": 1},
        {"emoji": "😀", "literal": "\\u0000"},
        {"big": 2**53 + 1, "bigger": 10**4299, "less": -(10**4299)},
        {"small": 5e-324, "minus": -0.0},
        nested(100),
        ("a", "tuple"),
        "text",
        None,
    ],
)
def test_what_is_exact_json(value: Any) -> None:
    assert check_json(value, MANY) > 0


@pytest.mark.parametrize(
    ("value", "pointer", "why"),
    [
        ({"a": float("nan")}, "/a", "not a JSON number"),
        ({"a": [1, float("-inf")]}, "/a/1", "not a JSON number"),
        ({"a": "\ud800"}, "/a", "lone surrogate"),
        ({"\udfff": 1}, "", "lone surrogate"),
        ({"a": {"b/c~d": "\ud800"}}, "/a/b~1c~0d", "lone surrogate"),
        ({"a": {1: 2}}, "/a", "is not text"),
        ({None: 1}, "", "is not text"),
        ({True: 1}, "", "is not text"),
        ({"a": {1, 2}}, "/a", "set is not a JSON type"),
        ({"a": b"x"}, "/a", "bytes is not a JSON type"),
        ({"a": object()}, "/a", "object is not a JSON type"),
        ({"a": 10**5000}, "/a", "too many digits"),
        (nested(101), "", "deeper than 100"),
        (nested(20_000), "", "deeper than 100"),
    ],
)
def test_what_is_not_says_where_and_why(value: Any, pointer: str, why: str) -> None:
    with pytest.raises(JsonValueError, match=why) as refused:
        check_json(value, MANY)
    assert refused.value.pointer == pointer
    str(refused.value).encode()


def test_a_value_that_holds_itself() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(JsonValueError, match="deeper than 100"):
        check_json(ring, MANY)


def test_sizes_count_bytes_of_compact_utf_8() -> None:
    assert check_json({"a": "é"}, 11 - 1) == 10
    with pytest.raises(JsonTooLarge, match="10 bytes of JSON; at most 9"):
        check_json({"a": "é"}, 9)
    assert check_json({"a": "x" * (262_144 - 8)}, 262_144) == 262_144
    with pytest.raises(JsonTooLarge, match="262,145 bytes of JSON; at most 262,144"):
        check_json({"a": "x" * (262_144 - 7)}, 262_144)


def test_pointers_can_always_be_printed() -> None:
    assert escape_pointer("a/b~c") == "a~1b~0c"
    assert escape_pointer("\ud800") == "\\ud800"
