"""What the figures of a queue mean, on paper."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.queues.lanes import Lane
from api.queues.verdict import Standing, drains_in, health_of, sentence
from api.queues.workers import Worker
from duetime.contracts.queues import Backlog, Health

NOW = datetime(2027, 1, 15, 12, tzinfo=UTC)
ONE = Worker("1@a", NOW, slots=4, busy=1)
FULL = Worker("1@a", NOW, slots=4, busy=4)
SILENT = Worker("go@b", NOW, told_by="poll")


def standing(
    *workers: Worker, oldest: float | None = None, lane: dict[str, Any] | None = None, **jobs: int
) -> Standing:
    """A queue with jobs in these places, of which one has waited for `oldest` seconds; somebody runs the workflows."""
    since = None if oldest is None else NOW - timedelta(seconds=oldest)
    return Standing(Lane("mail", **(lane or {})), Backlog(**jobs), workers, (ONE,), NOW, since)


FAST, SLOW = {"arrivals": 1.0, "starts": 3.0}, {"arrivals": 3.0, "starts": 1.0}


@pytest.mark.parametrize(
    ("at", "health", "says"),
    [
        (standing(ONE), Health.OK, "nothing waits; 1 worker serves it"),
        (standing(ONE, queued=4, oldest=60, lane=FAST), Health.OK, "done in about 2 s at this pace"),
        (
            standing(FULL, queued=4, oldest=60, lane=FAST),
            Health.WORKERS_FULL,
            "all 4 slots of 1 worker are busy",
        ),
        (standing(SILENT, queued=4, oldest=60), Health.WORKERS_FULL, "does not tell their slots"),
        (
            standing(ONE, queued=4, oldest=60, lane=SLOW),
            Health.BEHIND,
            "3.0 come to `mail` every second, and 1.0",
        ),
        (standing(ONE, queued=4, oldest=2, lane=SLOW), Health.OK, "4 jobs wait"),
        (standing(queued=4, oldest=60), Health.NO_WORKER, "no worker polls queue `mail`"),
        (standing(ONE, overdue=4, oldest=2), Health.OK, "4 jobs wait"),
        (
            standing(ONE, overdue=4, oldest=60, lane=FAST),
            Health.BEHIND,
            "4 jobs wait, the oldest for 1 min: the workers that run the workflows (queue `duetime`) do not bring them",
        ),
        (standing(overdue=4, oldest=60), Health.NO_WORKER, "no worker polls queue `mail`"),
    ],
)
def test_the_first_thing_in_the_way_is_named(at: Standing, health: Health, says: str) -> None:
    assert health_of(at) is health
    assert says in sentence(at)


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        (standing(ONE), 0),
        (standing(ONE, queued=4, oldest=9, lane=FAST), 2),
        (standing(ONE, overdue=4, oldest=9, lane=FAST), 2),
        (standing(ONE, queued=4, oldest=9, lane=SLOW), None),
        (standing(ONE, queued=4, oldest=9, lane={"starts": 0.02}), 200),
        (standing(ONE, queued=4, oldest=9, lane={"starts": 1e-8}), None),
        (standing(queued=4, oldest=9, lane=FAST), None),
    ],
)
def test_nothing_is_foreseen_from_what_is_left_of_an_old_pace(at: Standing, seconds: float | None) -> None:
    left = drains_in(at)
    assert (None if left is None else left.total_seconds()) == seconds
