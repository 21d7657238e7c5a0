"""What pydantic found wrong, told as JSON pointers that lead somewhere in the caller's own JSON."""

import math
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

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


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=2, max_length=3, pattern=r"^[A-Za-z0-9_.:\-]+$")] = "ab"
    digits: Annotated[str, Field(pattern=r"^[0-9]+$")] = "1"
    odd: Annotated[str, Field(pattern=r"^a|b$")] = "a"
    count: Annotated[int, Field(ge=1, lt=9)] = 1
    share: Annotated[float, Field(gt=0, le=1)] = 1
    on: bool = False
    items: Annotated[list[int], Field(min_length=1, max_length=2)] = [1]
    inner: dict[str, int] = {}
    pet: Cat | None = None
    choice: Literal["a", "b", "c"] = "a"
    span: Annotated[timedelta, Field(le=timedelta(hours=1))] = timedelta(0)
    much: Annotated[float, Field(lt=math.inf)] = 0
    day: Annotated[date, Field(ge=date(2027, 1, 1))] = date(2027, 1, 1)
    exact: Annotated[Decimal, Field(gt=Decimal("0.5"))] = Decimal(1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"name": 5}, "must be a string"),
        ({"name": "a"}, "must have at least 2 characters"),
        ({"name": "abcd"}, "must have at most 3 characters"),
        ({"name": "a b"}, "may hold letters, digits and _ . : - only"),
        ({"digits": "x"}, "must match the regular expression ^[0-9]+$"),
        ({"odd": "c"}, "must match the regular expression ^a|b$"),
        ({"count": "1"}, "must be a whole number"),
        ({"count": 0}, "must be at least 1"),
        ({"count": 9}, "must be less than 9"),
        ({"share": "x"}, "must be a number"),
        ({"share": 0}, "must be greater than 0"),
        ({"share": 2}, "must be at most 1"),
        ({"on": 1}, "must be true or false"),
        ({"items": "x"}, "must be a list"),
        ({"items": []}, "must have at least 1 item"),
        ({"items": [1, 2, 3]}, "must have at most 2 items"),
        ({"inner": []}, "must be an object"),
        ({"pet": "cat"}, "must be an object"),
        ({"choice": "d"}, "must be one of 'a', 'b', 'c'"),
        ({"span": timedelta(hours=2)}, "must be at most 1 hour"),
        ({"much": math.inf}, "must be less than inf"),
        ({"day": date(2026, 1, 1)}, "must be at least 2027-01-01"),
        ({"exact": Decimal(0)}, "must be greater than 0.5"),
        ({"other": 1}, "unknown field"),
        ([], "must be an object"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_json(value: Any, message: str) -> None:
    (fault,) = explain(_refusal(Everything, value))
    assert fault["message"] == message


@pytest.mark.parametrize("with_value", [True, False])
@pytest.mark.parametrize("name", ["a[0]", "b([", "[", "constrained-str"])
def test_an_unknown_field_is_told_whatever_it_is_called(name: str, with_value: bool) -> None:
    """Its name may look like the steps that pydantic adds to a path."""

    class Only(BaseModel, extra="forbid"):
        inner: "Only | None" = None

    for value, pointer in (({name: 1}, f"/{name}"), ({"inner": {name: 1}}, f"/inner/{name}")):
        (fault,) = explain(_refusal(Only, value), Only, value if with_value else None)
        assert (fault["pointer"], fault["message"]) == (pointer, "unknown field; known are `inner`")


def test_faults_in_one_line() -> None:
    assert one_line([]) == ""
    assert one_line([{"pointer": "", "message": "x"}, {"pointer": "/a", "message": "y"}]) == (
        "the job: x; /a: y"
    )
    long = one_line([{"pointer": "/" + "a" * 5_000, "message": "y"}])
    assert len(long) < 300 and long.endswith(": y")


def test_no_message_is_longer_than_anybody_reads() -> None:
    class Choice(BaseModel):
        one: Literal["a"]

    (long,) = explain(_refusal(Choice, {"one": "x", "b" * 100_000: 1}))[-1:]
    assert len(long["pointer"]) < 600 and len(long["message"]) < 1_100

    def never(value: Any) -> Any:
        raise ValueError(f"cannot be {value}")

    class Told(BaseModel):
        what: Annotated[str, AfterValidator(never)]

    (fault,) = explain(_refusal(Told, {"what": "x" * 50_000}))
    assert fault["message"].startswith("cannot be xxx") and len(fault["message"]) < 1_100


def _refusal(model: type[BaseModel], value: Any) -> ValidationError:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(value, extra="forbid")
    return refused.value
