"""What becomes of a job after an activity ended: the table, and properties over whole lives of jobs."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.contracts import limits
from duetime.contracts.job import Retry
from duetime.contracts.record import Attempt, Done, Error, Record, Sign
from duetime.contracts.states import AttemptOutcome
from duetime.decisions import (
    Again,
    Cancelled,
    Ended,
    Fail,
    How,
    Situation,
    Step,
    Succeed,
    after_bad_result,
    after_end,
    after_return,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)
O = AttemptOutcome  # noqa: E741
BOOM = Error(type="Boom", message="it went")


def attempt(number: int, outcome: AttemptOutcome, dispatch: str = "1", **fields: Any) -> Attempt:
    finished = None if outcome is O.RUNNING else NOW
    return Attempt(
        number=number, outcome=outcome, dispatch=dispatch, worker="w", finished_at=finished, **fields
    )


def said(*attempts: Attempt, **fields: Any) -> Sign:
    return Sign(record=Record(attempts=list(attempts), checkpoint={"row": 7}), **fields)


def situation(*before: Attempt, max_attempts: int = 3, dispatch: str = "1", **fields: Any) -> Situation:
    return Situation(
        record=Record(attempts=list(before)),
        dispatch=dispatch,
        retry=Retry(max_attempts=max_attempts, jitter=0, **fields),
        now=LATER,
        chance=0.5,
    )


def told(step: Step) -> tuple[str, Any, list[str]]:
    """A step in short: what, why, and the outcomes of the record."""
    outcomes = [a.outcome.value + ("" if a.acknowledged else "?") for a in step.record.attempts]
    match step:
        case Again(delay, reason, _):
            return reason, delay.total_seconds(), outcomes
        case Fail(error, _):
            return "fail", error.type, outcomes
        case Cancelled():
            return "cancelled", None, outcomes
        case Succeed(result, _):
            return "succeed", result, outcomes


LOST = "LeaseLost"

TABLE: dict[str, tuple[Ended, Situation, tuple[str, Any, list[str]]]] = {
    # Told by our own runtime: the outcome of the last attempt decides.
    "the last failure": (
        Ended(How.FAILED, "Boom", "it went", said(attempt(1, O.FAILED, error=BOOM))),
        situation(),
        ("fail", "Boom", ["failed"]),
    ),
    "a failure of a handler whose exception is called Interrupted": (
        Ended(
            How.FAILED,
            "Interrupted",
            "",
            said(attempt(1, O.FAILED, error=Error(type="Interrupted", message=""))),
        ),
        situation(),
        ("fail", "Interrupted", ["failed"]),
    ),
    "interrupted": (
        Ended(How.FAILED, "Interrupted", "", said(attempt(1, O.INTERRUPTED))),
        situation(max_attempts=1),
        ("interrupted", 0, ["interrupted"]),
    ),
    "handed out before its time, and given back": (
        Ended(How.FAILED, "Interrupted", "", said(attempt(1, O.INTERRUPTED), delay=3600)),
        situation(max_attempts=1),
        ("interrupted", 3600, ["interrupted"]),
    ),
    "snoozed": (
        Ended(How.FAILED, "Snoozed", "", said(attempt(1, O.SNOOZED), delay=90)),
        situation(max_attempts=1),
        ("snoozed", 90, ["snoozed"]),
    ),
    "cancelled, and told": (
        Ended(How.FAILED, "Cancelled", "", said(attempt(1, O.CANCELLED))),
        situation(),
        ("cancelled", None, ["cancelled"]),
    ),
    "timed out, and told": (
        Ended(How.FAILED, "AttemptTimeout", "", said(attempt(1, O.TIMED_OUT))),
        situation(),
        ("timed_out", 1, ["timed_out"]),
    ),
    "fenced itself, and told": (
        Ended(How.FAILED, LOST, "", said(attempt(1, O.LEASE_LOST))),
        situation(max_attempts=1),
        ("fail", LOST, ["lease_lost"]),
    ),
    "no handler": (
        Ended(How.FAILED, "NoHandler", "", Sign(no_handler=True)),
        situation(attempt(1, O.FAILED)),
        ("no_handler", 1, ["failed"]),
    ),
    "no handler, after an attempt in the same activity": (
        Ended(How.FAILED, "NoHandler", "", said(attempt(1, O.FAILED), no_handler=True)),
        situation(),
        ("no_handler", 1, ["failed"]),
    ),
    # The lease.
    "lease lost, acknowledged": (
        Ended(How.LEASE_LOST, sign=said(attempt(1, O.RUNNING))),
        situation(),
        ("lease_lost", 1, ["lease_lost"]),
    ),
    "lease lost for the third time": (
        Ended(
            How.LEASE_LOST, sign=said(attempt(1, O.LEASE_LOST), attempt(2, O.FAILED), attempt(3, O.RUNNING))
        ),
        situation(),
        ("fail", LOST, ["lease_lost", "failed", "lease_lost"]),
    ),
    "lease lost, and that is not to be retried": (
        Ended(How.LEASE_LOST, sign=said(attempt(1, O.RUNNING))),
        situation(non_retryable=[LOST]),
        ("fail", LOST, ["lease_lost"]),
    ),
    "lease lost, never acknowledged": (
        Ended(How.LEASE_LOST),
        situation(max_attempts=1),
        ("lease_lost", 0, ["lease_lost?"]),
    ),
    "lease lost, never acknowledged, after a failure in the same activity": (
        Ended(How.LEASE_LOST, sign=said(attempt(1, O.FAILED))),
        situation(),
        ("lease_lost", 0, ["failed", "lease_lost?"]),
    ),
    "the same, handed out before its time by a server that crashed": (
        Ended(How.LEASE_LOST, sign=said(attempt(1, O.FAILED), delay=60.0)),
        situation(),
        ("lease_lost", 55, ["failed", "lease_lost?"]),
    ),
    "the same, when its time has come meanwhile": (
        Ended(How.LEASE_LOST, sign=said(attempt(1, O.FAILED), delay=3.0)),
        situation(),
        ("lease_lost", 0, ["failed", "lease_lost?"]),
    ),
    "the tenth in a row that nobody acknowledged": (
        Ended(How.LEASE_LOST),
        situation(*(attempt(n, O.LEASE_LOST, acknowledged=False) for n in range(1, 10)), max_attempts=1),
        ("fail", "WorkerLost", ["lease_lost?"] * 10),
    ),
    "nine in a row, then one that was acknowledged": (
        Ended(
            How.LEASE_LOST,
            sign=said(
                *(attempt(n, O.LEASE_LOST, acknowledged=False) for n in range(1, 10)), attempt(10, O.RUNNING)
            ),
        ),
        situation(),
        ("lease_lost", 1, ["lease_lost?"] * 9 + ["lease_lost"]),
    ),
    "a foreign worker that was heard of": (
        Ended(How.LEASE_LOST, heard=True),
        situation(max_attempts=1),
        ("fail", LOST, ["lease_lost"]),
    ),
    # The other clocks of the server.
    "longer than its timeout": (
        Ended(How.TIMED_OUT, sign=said(attempt(1, O.RUNNING))),
        situation(),
        ("timed_out", 1, ["timed_out"]),
    ),
    "longer than its timeout, and nothing said": (
        Ended(How.TIMED_OUT),
        situation(),
        ("timed_out", 1, ["timed_out"]),
    ),
    "longer than its timeout, for the last time": (
        Ended(How.TIMED_OUT, sign=said(attempt(1, O.RUNNING))),
        situation(max_attempts=1),
        ("fail", "AttemptTimeout", ["timed_out"]),
    ),
    "nobody took it": (Ended(How.NOT_STARTED), situation(), ("fail", "QueueTimeout", [])),
    "nobody took its second attempt": (
        Ended(How.NOT_STARTED, sign=said(attempt(1, O.FAILED))),
        situation(),
        ("fail", "QueueTimeout", ["failed"]),
    ),
    # Cancelled by the server.
    "cancelled while queued": (Ended(How.CANCELLED), situation(), ("cancelled", None, [])),
    "cancelled while a foreign worker had it": (
        Ended(How.CANCELLED, heard=True, worker="go"),
        situation(),
        ("cancelled", None, ["cancelled"]),
    ),
    "cancelled, with the record": (
        Ended(How.CANCELLED, sign=said(attempt(1, O.RUNNING))),
        situation(),
        ("cancelled", None, ["cancelled"]),
    ),
    # Foreign handlers, which tell no outcome.
    "a foreign failure": (
        Ended(How.FAILED, "Boom", "it went", worker="go"),
        situation(),
        ("fail", "Boom", ["failed"]),
    ),
    "a foreign failure that is called Interrupted": (
        Ended(How.FAILED, "Interrupted", ""),
        situation(),
        ("fail", "Interrupted", ["failed"]),
    ),
    "a foreign failure without a type": (Ended(How.FAILED), situation(), ("fail", "Error", ["failed"])),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_table(case: str) -> None:
    ended, where, expected = TABLE[case]
    step = after_end(ended, where)
    assert told(step) == expected
    assert all(a.finished_at is not None for a in step.record.attempts)


def test_an_attempt_that_nobody_told_of_can_be_found_in_the_history() -> None:
    step = after_end(Ended(How.LEASE_LOST), situation(attempt(4, O.FAILED), dispatch="9"))
    added = step.record.attempts[-1]
    assert (added.number, added.dispatch, added.worker, added.finished_at) == (5, "9", None, LATER)


def test_the_checkpoint_survives_every_end() -> None:
    for ended in (
        Ended(How.LEASE_LOST, sign=said(attempt(1, O.RUNNING))),
        Ended(How.TIMED_OUT, sign=said(attempt(1, O.RUNNING))),
    ):
        assert after_end(ended, situation()).record.checkpoint == {"row": 7}
    kept = Situation(**{**situation().__dict__, "record": Record(checkpoint=5)})
    assert after_end(Ended(How.LEASE_LOST), kept).record.checkpoint == 5
    assert after_end(Ended(How.FAILED, "NoHandler", sign=Sign(no_handler=True)), kept).record.checkpoint == 5


def test_long_foreign_texts_are_cut() -> None:
    step = after_end(Ended(How.FAILED, "T" * 9_000, "m" * 9_000_000), situation())
    assert isinstance(step, Fail)
    assert len(step.error.message) < 3_000 and len(step.error.type) < 300


@pytest.mark.parametrize(("unhandled", "seconds"), [(0, 1), (1, 2), (5, 32), (6, 60), (10**9, 60)])
def test_a_job_without_a_handler_is_offered_at_growing_intervals(unhandled: int, seconds: int) -> None:
    where = Situation(**{**situation().__dict__, "unhandled": unhandled})
    step = after_end(Ended(How.FAILED, sign=Sign(no_handler=True)), where)
    assert isinstance(step, Again) and step.delay == timedelta(seconds=seconds)


def test_returning() -> None:
    done = Done(result=[1], record=Record(attempts=[attempt(1, O.SUCCEEDED)])).compact()
    assert told(after_return(done, situation())) == ("succeed", [1], ["succeeded"])
    assert told(after_return({"plain": 1}, situation())) == ("succeed", {"plain": 1}, ["succeeded"])
    assert told(after_return(None, situation(attempt(1, O.LEASE_LOST)))) == (
        "succeed",
        None,
        ["lease_lost", "succeeded"],
    )
    assert told(after_return({"$duetime": "not ours"}, situation()))[1] == {"$duetime": "not ours"}


def test_a_foreign_result_that_nobody_can_pass_on() -> None:
    step = after_bad_result(ValueError("the handler's result is bytes"), situation())
    assert told(step) == ("fail", "InvalidResult", ["failed"])
    assert step.record.attempts[0].error == step.error


# -- whole lives -----------------------------------------------------------------------------------------

#: What may become of one attempt, and the outcome that the worker wrote down of it, if it could.
OUTCOMES = {
    "fails": O.FAILED,
    "rejects": O.FAILED,
    "times out, and tells": O.TIMED_OUT,
    "fences itself": O.LEASE_LOST,
    "is interrupted": O.INTERRUPTED,
    "snoozes": O.SNOOZED,
    "is cancelled": O.CANCELLED,
    "succeeds": O.SUCCEEDED,
}
UNTOLD = ["times out", "loses its lease", "dies unheard", "finds no handler"]


@dataclass
class Life:
    """A job as the engine and a worker would play it."""

    max_attempts: int
    record: Record = field(default_factory=Record)
    dispatches: int = 0
    #: What the worker's last heartbeat of this activity said.
    sign: Sign | None = None
    step: Step | None = None

    def play(self, event: str) -> None:
        if self.sign is None:
            self.dispatches += 1
        before = self.sign.record if self.sign else self.record
        after = before.with_attempt(
            attempt(before.next_number, OUTCOMES.get(event, O.RUNNING), str(self.dispatches))
        )
        if event == "succeeds":
            return self._take(after_return(Done(result=1, record=after).compact(), self._situation()))
        if event == "fails" and after.used < self.max_attempts:
            self.sign = Sign(record=after)  # the server tries again by itself
            return None
        return self._take(after_end(self._ended(event, before, after), self._situation()))

    def _ended(self, event: str, before: Record, after: Record) -> Ended:
        match event:
            case "finds no handler":
                return Ended(How.FAILED, sign=Sign(record=before, no_handler=True))
            case "dies unheard":
                return Ended(How.LEASE_LOST, sign=self.sign)
            case "times out":
                return Ended(How.TIMED_OUT, sign=Sign(record=after))
            case "loses its lease":
                return Ended(How.LEASE_LOST, sign=Sign(record=after))
        return Ended(How.FAILED, sign=Sign(record=after, delay=1 if event == "snoozes" else None))

    def _situation(self) -> Situation:
        retry = Retry(max_attempts=self.max_attempts)
        return Situation(self.record, str(self.dispatches), retry, NOW, 0.5)

    def _take(self, step: Step) -> None:
        self.sign, self.step, self.record = None, step, step.record

    @property
    def over(self) -> bool:
        return self.step is not None and not isinstance(self.step, Again)


@settings(max_examples=400, deadline=None)
@given(
    st.integers(1, 6),
    st.lists(st.sampled_from([*OUTCOMES, *UNTOLD]), max_size=40),
)
def test_whole_lives(max_attempts: int, events: list[str]) -> None:
    life = Life(max_attempts)
    tried = quiet = 0
    for event in [*events, *["fails"] * (max_attempts + 1)]:
        life.play(event)
        if event != "finds no handler":
            tried += 1
            quiet = quiet + 1 if event == "dies unheard" else 0
        known = life.sign.record if life.sign else life.record
        numbers = [a.number for a in known.attempts]
        assert numbers == list(range(1, tried + 1)), "every attempt is listed once, in order"
        assert known.used <= max_attempts
        assert known.unacknowledged == quiet <= limits.UNACKNOWLEDGED_ATTEMPTS
        if life.over:
            break
        assert known.used < max_attempts, "a job whose attempts are used up must end"
    assert life.over, "no job goes on for ever"
    assert all(a.outcome is not O.RUNNING and a.finished_at for a in life.record.attempts)
