"""What pydantic refuses, in words that are true of any model."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from duetime.contracts.explain import explain


class Told(BaseModel):
    address: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")] = ""
    low: Annotated[str, Field(pattern="^[a-z0-9]+$")] = ""
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:~\-]+$")] = ""
    which: Literal["this or that", "neither"] = "neither"


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("address", r"must match the regular expression ^[^@\s]+@[^@\s]+$"),
        ("low", "must match the regular expression ^[a-z0-9]+$"),
        ("name", "may hold letters, digits and . _ : ~ - only"),
        ("which", "must be one of 'this or that', 'neither'"),
    ],
)
def test_what_a_field_may_hold(field: str, says: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        Told.model_validate({field: "#"})
    (fault,) = explain(refused.value, Told)
    assert fault["message"] == says
