"""The account of a queue's pauses, which lives in the reason of its limit."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from duetime.contracts.pauses import Note, Pause, paused_between, read_note, write_note

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)


def minutes(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def pauses_of(spans: list[tuple[int, int]]) -> tuple[Pause, ...]:
    """Pauses one after another, of a gap and a length each."""
    found, at = [], NOON
    for gap, length in spans:
        begin = at + timedelta(seconds=gap)
        at = begin + timedelta(seconds=length)
        found.append(Pause(begin, at))
    return tuple(found)


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=600)
spans = st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 10**7)), max_size=40)


@given(texts, texts, st.none() | st.floats(0.001, 1e5), texts, spans)
def test_a_note_always_fits_and_never_makes_a_pause_shorter(
    reason: str, by: str, rate: float | None, rate_reason: str, told: list[tuple[int, int]]
) -> None:
    pauses = pauses_of(told)
    text = write_note(Note(reason, by, rate, rate_reason, by, pauses))
    assert len(text.encode()) <= 1000
    read = read_note(text)
    assert reason.startswith(read.reason) and by.startswith(read.by) and read.rate == rate
    for pause in pauses:
        assert pause.end is not None
        whole = pause.end - pause.begin
        assert paused_between(read.pauses, pause.begin, pause.end) == whole


@given(texts)
def test_what_others_wrote_is_a_reason_and_nothing_else(text: str) -> None:
    assert read_note(text) == Note(text)
    assert read_note(f"{text}\n[duetime] {{}}").pauses == ()


def test_only_the_part_that_overlaps_counts() -> None:
    known = (Pause(minutes(0), minutes(10)), Pause(minutes(20), minutes(30)), Pause(minutes(40)))
    assert paused_between(known, minutes(5), minutes(25)) == timedelta(minutes=10)
    assert paused_between(known, minutes(11), minutes(19)) == timedelta(0)
    assert paused_between(known, minutes(45), minutes(60)) == timedelta(minutes=15)
    assert paused_between(known, minutes(-5), minutes(60)) == timedelta(minutes=40)


def test_a_pause_begins_once_and_ends_once() -> None:
    once = Note().paused(minutes(1)).paused(minutes(2))
    assert once.pauses == (Pause(minutes(1)),)
    ended = once.resumed(minutes(5)).resumed(minutes(6))
    assert ended.pauses == (Pause(minutes(1), minutes(5)),)
    assert ended.paused(minutes(8)).pauses == (Pause(minutes(1), minutes(5)), Pause(minutes(8)))
