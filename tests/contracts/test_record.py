"""The record of attempts: what counts, what is kept, and that it stays small enough to travel."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.exceptions import ApplicationError

from duetime.contracts import limits
from duetime.contracts.record import (
    Attempt,
    Done,
    Ending,
    Error,
    Progress,
    Record,
    Sign,
    View,
    cut,
    read_done,
    read_sign,
    shorten,
)
from duetime.contracts.states import FREE, AttemptOutcome
from duetime.runtime.failures import describe

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
FAILED, SNOOZED = AttemptOutcome.FAILED, AttemptOutcome.SNOOZED


def attempt(number: int, outcome: AttemptOutcome = FAILED, **fields: Any) -> Attempt:
    return Attempt(number=number, outcome=outcome, **fields)


@pytest.mark.parametrize("outcome", list(AttemptOutcome))
def test_what_costs_an_attempt(outcome: AttemptOutcome) -> None:
    record = Record(attempts=[attempt(1, outcome)])
    assert record.used == (0 if outcome in FREE else 1)
    assert Record(attempts=[attempt(1, outcome, acknowledged=False)]).used == 0


def test_unacknowledged_attempts_are_counted_from_the_last() -> None:
    quiet = {"outcome": AttemptOutcome.LEASE_LOST, "acknowledged": False}
    attempts = [
        Attempt(number=1, **quiet),
        attempt(2),
        Attempt(number=3, **quiet),
        Attempt(number=4, **quiet),
    ]
    assert Record(attempts=attempts).unacknowledged == 2
    assert Record(attempts=attempts[:2]).unacknowledged == 0
    assert Record().unacknowledged == 0


def test_numbers_go_on_from_the_last() -> None:
    assert Record().next_number == 1
    assert Record(attempts=[attempt(1), attempt(7)]).next_number == 8


def test_an_attempt_takes_the_place_of_itself_only() -> None:
    record = Record().with_attempt(attempt(1, AttemptOutcome.RUNNING)).with_attempt(attempt(1))
    assert [a.outcome for a in record.attempts] == [FAILED]
    assert [a.number for a in record.with_attempt(attempt(2)).attempts] == [1, 2]


@given(st.lists(st.sampled_from(list(AttemptOutcome)), max_size=60), st.booleans())
def test_every_attempt_that_cost_one_is_kept(outcomes: list[AttemptOutcome], long: bool) -> None:
    attempts = [
        attempt(number, outcome) for number, outcome in enumerate(outcomes * (30 if long else 1), start=1)
    ]
    kept = shorten(attempts)
    costly = [a.number for a in attempts if not a.is_free]
    assert [a.number for a in kept if not a.is_free] == costly
    assert [a.number for a in kept] == sorted({a.number for a in kept})
    assert len(kept) == min(len(attempts), max(limits.MAX_ATTEMPTS, len(costly)))


def test_only_the_last_attempts_keep_their_stack() -> None:
    error = Error(type="E", message="m" * 2_000, stack="s" * 8_000)
    kept = shorten([attempt(number, error=error) for number in range(1, 31)])
    assert all(a.error and a.error.stack is None and len(a.error.message) < 300 for a in kept[:20])
    assert all(a.error == error for a in kept[20:])


@pytest.mark.parametrize("char", ["x", "😀", '"', "\n"])
def test_the_longest_record_still_travels(char: str) -> None:
    """The engine refuses blobs of 2 MiB; a failure's details are one, and so is a heartbeat."""
    error = describe(ApplicationError(char * 10_000, type=char * 1_000))
    error = error.model_copy(update={"stack": char * limits.ERROR_STACK_LENGTH})
    record = Record(
        checkpoint="x" * (limits.CHECKPOINT_BYTES - 2),
        progress=Progress(done=1, total=2, message=char * limits.PROGRESS_MESSAGE_LENGTH, at=NOW),
    )
    for number in range(1, limits.MAX_ATTEMPTS + 1):
        filled = attempt(
            number,
            error=error,
            fencing_token=1_796_000_000_123_456,
            worker="1234567@a-host-with-a-rather-long-name.in-a-rather-deep.domain.example.org",
            started_at=NOW.replace(microsecond=123_456),
            finished_at=NOW.replace(microsecond=654_321),
            dispatch="1",
        )
        record = record.with_attempt(filled)
    assert len(record.attempts) == limits.MAX_ATTEMPTS
    size = len(json.dumps(Sign(record=record).compact(), ensure_ascii=False).encode())
    assert size < 1_500_000, f"{size:,}"


def test_cut_tells_how_long_a_text_was() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc… [cut, 4 characters]"


def test_what_is_said_in_one_version_is_read_in_another() -> None:
    sign = Sign(record=Record(attempts=[attempt(1, dispatch="1")], checkpoint={"a": 1}), delay=2.5)
    told = json.loads(json.dumps(sign.compact()))
    told["something-new"] = 1
    told["record"]["attempts"][0]["something-new"] = 1
    assert read_sign([told]) == sign


@pytest.mark.parametrize(
    "details",
    [[], [None], ["text"], [{"a": 1}], [{"$duetime": 1, "record": 5}], [{"$duetime": {}}], [[]]],
)
def test_the_details_of_a_foreign_handler_are_not_ours(details: list[Any]) -> None:
    assert read_sign(details) is None
    assert read_done(details[0] if details else None) is None


@given(st.none() | st.integers() | st.dictionaries(st.text(), st.integers()))
def test_a_result_comes_back_as_it_was(result: Any) -> None:
    done = Done(result=result, record=Record(attempts=[attempt(1, AttemptOutcome.SUCCEEDED)]))
    read = read_done(json.loads(json.dumps(done.compact())))
    assert read == done
    ending = Ending(result=result, attempts=done.record.attempts)
    assert Ending.model_validate(json.loads(json.dumps(ending.compact()))) == ending


def test_a_view_says_only_what_is_not_usual() -> None:
    assert View().compact() == {}
    assert View(reason="snoozed", next_attempt_at=NOW).compact() == {
        "reason": "snoozed",
        "next_attempt_at": "2026-11-30T12:00:00Z",
    }
