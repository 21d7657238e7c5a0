"""The auditor of the backlog is just: silent about what is right, and each of its promises can be seen broken."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.books import PLACES, Books, Entry, Reading, audit, summary
from tests.faults.checker import Evidence
from tests.faults.test_checker import WALL, A, at, attempt, fact

PARKED, BUSY, DONE = "parked-queued", "busy", "done"


def jobs(**places: int) -> dict[str, int]:
    return dict.fromkeys(PLACES, 0) | places | {"open": sum(places.values())}


def reading(by: str, begin: float, groups: dict[str, dict[str, int]], **ages: str | None) -> Reading:
    whole = {place: sum(group[place] for group in groups.values()) for place in (*PLACES, "open")}
    answer = {
        "by": by,
        "groups": [
            {"name": name, "jobs": group, "oldest_ready_at": ages.get(name.replace("-", "_"))}
            for name, group in groups.items()
        ],
        "total": whole,
        "approximate": False,
    }
    indexed = frozenset(name for name, group in groups.items() if group["open"])
    return Reading(by, 1000.0 + begin, 1000.2 + begin, answer, indexed, 999.9 + begin)


def good() -> tuple[Books, Evidence]:
    """One job is parked in a queue that nobody polls, one runs for ten seconds, and one has ended before."""
    books = Books(rested=0.4)
    for job, called, ended, place in (
        (PARKED, 0.0, None, "queued"),
        (BUSY, 1.0, 12.0, None),
        (DONE, 0.0, 2.0, None),
    ):
        entry = Entry(job, "k", job, "q", 1000.0 + called, 1000.1 + called, place=place)
        entry.ended = None if ended is None else 1000.0 + ended
        books.entries[job] = entry
    ages: dict[str, str | None] = {"parked_queued": at(0.05)}
    books.readings = [
        reading("fairness_key", 5, {PARKED: jobs(queued=1), BUSY: jobs(running=1)}, **ages),
        reading("queue", 6, {"q": jobs(queued=1, running=1)}),
        reading("kind", 7, {"k": jobs(queued=1, running=1)}),
        reading("fairness_key", 15, {PARKED: jobs(queued=1)}, **ages),
    ]
    books.readings[1:3] = [
        Reading(one.by, one.begin, one.end, one.answer, frozenset({PARKED, BUSY}), one.probed)
        for one in books.readings[1:3]
    ]
    job = {
        "state": "succeeded",
        "attempts": [attempt(1, 1, A, "succeeded", 1.5, 11.9)],
        "finished_at": at(12),
    }
    told: list[dict[str, Any]] = [
        fact("begin", 1, A, 1.6, checkpoint=None) | {"job": BUSY},
        fact("end", 1, A, 11.8) | {"job": BUSY},
    ]
    return books, Evidence([], set(), {BUSY: job}, told, {}, {}, wall=WALL)


def test_what_is_right_is_right() -> None:
    assert audit(*good()) == []
    assert summary(good()[0])["readings"] == 4


def first(books: Books) -> Any:
    return books.readings[0].answer


def group(books: Books, name: str) -> Any:
    return next(one for one in first(books)["groups"] if one["name"] == name)


def retell(books: Books, number: int, **changes: Any) -> None:
    one = books.readings[number]
    books.readings[number] = Reading(**({**vars(one), **changes}))


def drop(books: Books, number: int, name: str) -> None:
    """A group is told by nobody, and not in the total either."""
    one: Any = books.readings[number].answer
    (gone,) = [group for group in one["groups"] if group["name"] == name]
    one["groups"].remove(gone)
    for place, count in gone["jobs"].items():
        one["total"][place] -= count


WRONGS: dict[str, tuple[str, Callable[[Books], Any]]] = {
    "a rest": ("the backlog adds up", lambda b: first(b)["total"].update(queued=2, open=3)),
    "parts that are not the whole": ("the backlog adds up", lambda b: group(b, BUSY)["jobs"].update(open=2)),
    "less than none": (
        "the backlog adds up",
        lambda b: (
            group(b, BUSY)["jobs"].update(overdue=-1, queued=1),
            first(b)["total"].update(overdue=-1, queued=2),
        ),
    ),
    "a place for what is left": ("the backlog adds up", lambda b: group(b, BUSY)["jobs"].update(other=0)),
    "a parked job forgotten": ("nobody is missing", lambda b: drop(b, 0, PARKED)),
    "a running job forgotten": ("nobody is missing", lambda b: drop(b, 0, BUSY)),
    "a queue forgotten": ("nobody is missing", lambda b: drop(b, 1, "q")),
    "a kind of nobody": ("nobody else", lambda b: b.readings[2].answer["groups"][0].update(name="unknown")),  # type: ignore[index]
    "one who has ended": ("nobody else", lambda b: retell(b, 0, begin=1013.0, end=1013.2, probed=1012.9)),
    "one who has not come": ("nobody else", lambda b: setattr(b.entries[BUSY], "called", 1005.5)),
    "a parked job elsewhere": (
        "each job is in its place",
        lambda b: group(b, PARKED)["jobs"].update(queued=0, overdue=1),
    ),
    "queued while it runs": (
        "each job is in its place",
        lambda b: group(b, BUSY)["jobs"].update(queued=1, running=0),
    ),
    "too old": ("ages are right", lambda b: group(b, PARKED).update(oldest_ready_at=at(-3600))),
    "no age": ("ages are right", lambda b: group(b, PARKED).update(oldest_ready_at=None)),
    "an age of what cannot run": (
        "ages are right",
        lambda b: (
            setattr(b.entries[PARKED], "place", "waiting"),
            group(b, PARKED).update(jobs=jobs(waiting=1)),
        ),
    ),
    "an index without it": (
        "the index catches up",
        lambda b: retell(b, 3, begin=1035.0, end=1035.2, probed=1034.9, indexed=frozenset()),
    ),
    "never at rest": ("the backlog is exact at rest", lambda b: setattr(b, "rested", None)),
    "a parked job that ended": (
        "what is parked stays",
        lambda b: b.parked.update({PARKED: {"finished_at": at(5), "state": "failed", "attempts": []}}),
    ),
    "a refusal": ("the backlog answers", lambda b: b.refusals.append("500: oh")),
}


@pytest.mark.parametrize(("promise", "change"), WRONGS.values(), ids=WRONGS.keys())
def test_each_promise_can_be_seen_broken(promise: str, change: Callable[[Books], Any]) -> None:
    books, evidence = copy.deepcopy(good())
    change(books)
    found = audit(books, evidence)
    assert any(violation.promise.startswith(promise) for violation in found), found


def test_running_without_an_attempt_is_seen() -> None:
    books, evidence = good()
    evidence.jobs[BUSY]["attempts"] = [
        attempt(1, 1, A, "failed", -20, -11),
        attempt(2, 1, A, "succeeded", 8, 11.9),
    ]
    assert [violation.promise for violation in audit(books, evidence)] == ["each job is in its place"]


def test_a_job_that_the_index_does_not_know_yet_is_excused() -> None:
    """For a while: see `an index without it`."""
    books, evidence = good()
    drop(books, 0, BUSY)
    retell(books, 0, indexed=frozenset({PARKED}))
    assert audit(books, evidence) == []
    assert summary(books)["seconds that it lagged, longest"] == 3.8


def test_an_estimate_is_held_to_the_total_alone() -> None:
    books, evidence = good()
    first(books)["approximate"] = True
    group(books, PARKED)["jobs"].update(queued=0)
    group(books, PARKED)["jobs"].update(overdue=1)
    first(books)["total"].update(queued=0, overdue=1)
    assert audit(books, evidence) == []
    drop(books, 0, BUSY)
    assert {violation.promise for violation in audit(books, evidence)} == {
        "nobody is missing from the backlog"
    }
