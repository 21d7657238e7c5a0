"""The text of queries."""

import string
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from api.jobs import query
from api.jobs.filters import JobFilter
from duetime.contracts.states import FINAL, OPEN, State

#: What the server or one of its stores takes for something else within quotes.
MEANINGFUL = "'\"\\?\n\r\t\b\0♡`;*"


@given(st.text(), st.sampled_from(MEANINGFUL), st.text())
def test_no_literal_holds_a_sign_that_means_something(before: str, sign: str, after: str) -> None:
    with pytest.raises(ValueError, match="not a value for a query"):
        query.literal(before + sign + after)


@given(st.text(string.ascii_letters + string.digits + "_.:/+=@~^%#- "))
def test_harmless_values_are_written_as_they_are(value: str) -> None:
    assert query.literal(value) == f"'{value}'"


@given(st.fixed_dictionaries({}, optional={name: st.text() for name in JobFilter.model_fields}))
def test_whatever_passes_as_a_filter_makes_a_query(parameters: dict[str, str]) -> None:
    lists = {name: [value] for name, value in parameters.items() if name in ("state", "tag")}
    try:
        wanted = JobFilter.model_validate(parameters | lists)
    except ValidationError:
        return
    text = query.jobs(wanted)
    assert text.count("'") % 2 == 0
    assert set(text) & set(MEANINGFUL) <= {"'"}


def test_conditions_keep_to_themselves() -> None:
    assert query.all_of("a OR b", "", "c") == "(a OR b) AND (c)"
    assert query.any_of("a AND b", "", "c") == "(a AND b) OR (c)"
    assert query.all_of() == ""


@pytest.mark.parametrize("state", sorted(FINAL))
def test_every_final_state_has_a_condition(state: State) -> None:
    assert "ExecutionStatus" in query.finished({state})


@pytest.mark.parametrize("state", sorted(OPEN))
def test_every_open_state_has_a_condition(state: State) -> None:
    assert query.RUNNING in query.open_in(frozenset({state}), datetime.now(UTC))


def test_filters_that_mean_the_same_are_the_same() -> None:
    one = JobFilter.model_validate({"state": ["failed,expired"], "tag": ["b", "a"]})
    same = JobFilter.model_validate({"state": ["expired", "failed"], "tag": ["a", "b", "a"]})
    other = JobFilter.model_validate({"state": ["failed"], "tag": ["a", "b"]})
    assert one.canonical() == same.canonical() != other.canonical()


def test_no_value_can_pass_for_another_field() -> None:
    one = JobFilter(kind="a", queue=None)
    other = JobFilter(kind=None, queue="a")
    assert one.canonical() != other.canonical()
