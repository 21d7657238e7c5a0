"""What pydantic found wrong, told as JSON pointers that lead somewhere in the caller's own JSON."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from duetime.contracts.explain import explain, one_line


class Cat(BaseModel):
    type: Literal["cat"]
    lives: int


class Dog(BaseModel):
    type: Literal["dog"]
    name: str


class Zoo(BaseModel):
    either: int | str | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="type")] | None = None
    counts: dict[str, int] = {}
    rows: list[list[int]] = []


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ({"either": []}, {"/either"}),
        ({"pet": {"type": "cat", "lives": "nine"}}, {"/pet/lives"}),
        ({"pet": {"type": "dog"}}, {"/pet/name"}),
        ({"counts": {"a[0]/b": "x"}}, {"/counts/a[0]~1b"}),
        ({"rows": [[1], [2, "x"]]}, {"/rows/1/1"}),
        ([], {""}),
    ],
)
def test_pointers_lead_into_what_was_sent(value: Any, pointers: set[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Zoo).validate_python(value)
    assert {fault["pointer"] for fault in explain(refused.value, value=value)} == pointers


def test_faults_in_one_line() -> None:
    assert one_line([]) == ""
    assert one_line([{"pointer": "", "message": "x"}, {"pointer": "/a", "message": "y"}]) == (
        "the job: x; /a: y"
    )
    long = one_line([{"pointer": "/" + "a" * 5_000, "message": "y"}])
    assert len(long) < 300 and long.endswith(": y")
