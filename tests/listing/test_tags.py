"""The spelling of tags in the index."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.jobs.query import literal
from duetime.contracts import limits
from duetime.contracts.job import JobSpec
from duetime.tags import index_tag, read_tags

texts = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\x7f"),
    min_size=1,
    max_size=limits.TAG_LENGTH,
)


@pytest.mark.parametrize("tag", ["clinic", "eu-west.1", "a/b:c", "owner=x+y@z", "two words", "~tmp_2"])
def test_plain_tags_are_spelled_as_they_are(tag: str) -> None:
    assert index_tag(tag) == tag


@given(texts, texts)
def test_no_two_tags_share_a_spelling_even_where_case_is_nothing(one: str, other: str) -> None:
    assert (index_tag(one).casefold() == index_tag(other).casefold()) == (one == other)


@given(texts)
def test_a_spelling_can_be_put_in_a_query_and_is_read_back(tag: str) -> None:
    spelled = index_tag(tag)
    assert literal(spelled) == f"'{spelled}'"
    assert read_tags([spelled]) == (None if spelled.startswith("#") else [tag])


@given(st.lists(texts, min_size=limits.TAGS, max_size=limits.TAGS))
def test_the_longest_list_fits_into_one_attribute(tags: list[str]) -> None:
    """2,048 bytes is `limit.searchAttributesSizeOfValue` of the server."""
    JobSpec.model_validate({"kind": "x", "tags": tags})
    assert len(json.dumps([index_tag(tag) for tag in tags]).encode()) <= 2048


@pytest.mark.parametrize("tag", ["é" * 64, "A" * 64])
def test_a_long_spelling_is_a_hash(tag: str) -> None:
    assert re.fullmatch("#[0-9a-f]{40}", index_tag(tag))
    assert read_tags(["fine", index_tag(tag)]) is None


@pytest.mark.parametrize("spelled", ["%c3", "%zz", "^", "Upper", "é", "%41"])
def test_a_foreign_spelling_is_not_guessed_at(spelled: str) -> None:
    assert read_tags([spelled]) is None
