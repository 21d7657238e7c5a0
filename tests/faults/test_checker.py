"""The judge is just: silent about what is right, and each promise can be seen broken."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.faults.checker import Accepted, Evidence, Silence, judge

BEGIN = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
WALL = BEGIN.timestamp() - 1000.0
FIRST, SECOND = 1_000_000, 2_000_000
A, B = "1@here", "2@here"


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def attempt(number: int, token: int, worker: str, outcome: str, begin: float, end: float) -> dict[str, Any]:
    return {
        "number": number,
        "fencing_token": token,
        "worker": worker,
        "outcome": outcome,
        "started_at": at(begin),
        "finished_at": at(end),
    }


def fact(event: str, token: int, worker: str, at: float, **more: Any) -> dict[str, Any]:
    return {"event": event, "job": "j", "token": token, "worker": worker, "at": 1000.0 + at, **more}


def good() -> Evidence:
    """Lost by A, done by B; A's handler had stopped in time, and one of its two effects had been done."""
    job = {
        "state": "succeeded",
        "error": None,
        "attempts": [
            attempt(1, FIRST, A, "lease_lost", 0, 3.5),
            attempt(2, SECOND, B, "succeeded", 4.2, 5),
        ],
    }
    told = [
        fact("begin", FIRST, A, 0.1, checkpoint=None),
        fact("saved", FIRST, A, 0.2, checkpoint=1),
        fact("end", FIRST, A, 3.4),
        fact("begin", SECOND, B, 4.3, checkpoint=1),
        fact("end", SECOND, B, 4.9),
    ]
    return Evidence(
        accepted=[Accepted("j", "fault.steps", "sqlite", effects=2)],
        submitted={"j", "unanswered"},
        jobs={"j": job},
        told=told,
        deliveries={"sqlite": [{"job": "j", "key": "k:0"}, {"job": "j", "key": "k:1"}], "postgresql": []},
        writes={"sqlite": [{"job": "j", "token": FIRST}, {"job": "j", "token": SECOND}], "postgresql": []},
        wall=WALL,
    )


def test_what_is_right_is_right() -> None:
    assert judge(good()) == []


def wrong(change: Callable[[Evidence], Any]) -> Evidence:
    evidence = copy.deepcopy(good())
    change(evidence)
    return evidence


def second(evidence: Evidence, **changes: Any) -> None:
    evidence.jobs["j"]["attempts"][1].update(changes)


WRONGS: dict[str, tuple[str, Callable[[Evidence], Any]]] = {
    "lost": ("accepted means kept", lambda e: e.jobs.clear()),
    "failed": ("accepted means kept", lambda e: e.jobs["j"].update(state="failed")),
    "still open": ("accepted means kept", lambda e: e.jobs["j"].update(state="running")),
    "from nowhere": ("nothing unexpected", lambda e: e.submitted.discard("j")),
    "twice": ("effects once", lambda e: e.deliveries["postgresql"].append({"job": "j", "key": "k:1"})),
    "not at all": ("effects once", lambda e: e.deliveries["sqlite"].pop()),
    "stale write": ("stale writes", lambda e: e.writes["sqlite"].append({"job": "j", "token": FIRST})),
    "same token": ("tokens grow", lambda e: second(e, fencing_token=FIRST)),
    "no token": ("tokens grow", lambda e: second(e, fencing_token=None)),
    "gap": ("every attempt is told", lambda e: second(e, number=3)),
    "two winners": ("one at a time", lambda e: e.jobs["j"]["attempts"][0].update(outcome="succeeded")),
    "overlap": (
        "one at a time",
        lambda e: e.jobs["j"]["attempts"][0].update(outcome="failed", finished_at=at(9)),
    ),
    "too early": (
        "one at a time",
        lambda e: (second(e, started_at=at(2)), e.jobs["j"]["attempts"][0].update(finished_at=at(0))),
    ),
    "untold": ("every attempt is told", lambda e: e.told.append(fact("begin", 3, A, 5, checkpoint=1))),
    "no end": ("every attempt is told", lambda e: e.jobs["j"]["attempts"].pop()),
    "other worker": ("every attempt is told", lambda e: second(e, worker=A)),
    "forgotten": ("checkpoints are kept", lambda e: e.told[3].update(checkpoint=None)),
    "ran on": ("handlers stop in time", lambda e: e.told[2].update(at=1004.9)),
}


@pytest.mark.parametrize(("promise", "change"), WRONGS.values(), ids=WRONGS.keys())
def test_each_promise_can_be_seen_broken(promise: str, change: Callable[[Evidence], Any]) -> None:
    found = judge(wrong(change))
    assert found
    assert any(violation.promise.startswith(promise) for violation in found), found


def test_a_frozen_worker_is_excused_for_running_on() -> None:
    evidence = wrong(lambda e: e.told[2].update(at=1004.9))
    evidence.silences.append(Silence(A, 1001.0, 1004.8))
    assert judge(evidence) == []
    evidence.silences[0] = Silence(B, 1001.0, 1004.8)
    assert judge(evidence) != []
