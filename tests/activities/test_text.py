"""Bounded text from any bytes."""

import json

import pytest
from hypothesis import given
from hypothesis.strategies import binary, booleans, integers

from activities.text import JSON_BYTES, KEPT_BYTES, Excerpt, head, tail


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xe9\n", "caf\ufffd\n"),
        (b"\xff\xfe\xe2\x82", "\ufffd\ufffd\ufffd"),
        ("€\r\n\x1b[1m😀".encode(), "€\r\n\x1b[1m😀"),
        (b"a\x00b", "a\x00b"),
        (b"", ""),
    ],
)
def test_bad_bytes_are_replaced_and_good_ones_kept(data: bytes, text: str) -> None:
    assert head(data, cut=False) == tail(data, cut=False) == Excerpt(text, truncated=False)


def test_a_cut_falls_between_characters() -> None:
    data = "😀€é".encode()
    assert [head(data[:end], cut=True).text for end in range(1, 9)] == [
        "",
        "",
        "",
        "😀",
        "😀",
        "😀",
        "😀€",
        "😀€",
    ]
    assert [tail(data[start:], cut=True).text for start in range(9)] == ["😀€é", *["€é"] * 4, *["é"] * 3, ""]


@given(binary(max_size=200), booleans(), integers(min_value=2, max_value=300))
def test_the_room_is_kept_and_filled(data: bytes, cut: bool, room: int) -> None:
    for excerpt, whole in (
        (head(data, cut=cut, room=room), head(data, cut=cut)),
        (tail(data, cut=cut, room=room), tail(data, cut=cut)),
    ):
        assert len(json.dumps(excerpt.text, ensure_ascii=False).encode()) <= room
        assert excerpt.truncated == (cut or excerpt.text != whole.text)
    assert head(data, cut=cut).text.startswith(head(data, cut=cut, room=room).text)
    assert tail(data, cut=cut).text.endswith(tail(data, cut=cut, room=room).text)


@pytest.mark.parametrize("filling", [b"\x00", b"\xff", b'"', b"a", "€".encode()])
def test_two_texts_fit_into_a_result_whatever_the_bytes(filling: bytes) -> None:
    data = (filling * KEPT_BYTES)[:KEPT_BYTES]
    for excerpt in (head(data, cut=True), tail(data, cut=True)):
        assert len(json.dumps(excerpt.text, ensure_ascii=False).encode()) <= JSON_BYTES
    assert 2 * JSON_BYTES < 256 * 1024 - 16 * 1024


def test_ordinary_text_of_the_full_length_is_kept_whole() -> None:
    for text in ("a" * KEPT_BYTES, "line\n" * (KEPT_BYTES // 5), "漢" * (KEPT_BYTES // 3)):
        assert tail(text.encode(), cut=False) == Excerpt(text, truncated=False)
