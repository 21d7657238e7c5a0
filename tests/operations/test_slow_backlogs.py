"""When the doctor calls a backlog slow: soon enough to do something, and not for a burst."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.doctor.backlogs import SPAN, Trend, is_suspect, slowness
from duetime.contracts.instants import format_instant
from duetime.contracts.queues import Backlog, Health, Pace, QueueView, WorkerView
from tests.operations.bench import Bench, hold, let_go, until

NOW = datetime(2027, 1, 15, 12, tzinfo=UTC)
PACE = Pace(arrivals=0, starts=0, completions=0)


def a_queue(
    waits: int = 1, *, minutes: float = 6, running: int = 1, health: Health = Health.OK, served: bool = True
) -> QueueView:
    """Jobs that wait for a worker, the oldest for so many minutes."""
    worker = WorkerView(identity="1@a", seen_at=NOW, told_by="heartbeat")
    return QueueView(
        name="mail",
        health=health,
        verdict="they wait",
        jobs=Backlog(queued=waits, running=running),
        oldest_age=timedelta(minutes=minutes) if waits else None,
        pace=PACE,
        workers=[worker] if served else [],
    )


@pytest.mark.parametrize(
    ("queue", "came", "ended", "says"),
    [
        # A burst that is worked off in time, or nearly nothing.
        (a_queue(1_500), 0, 1_500, None),
        (a_queue(3), 0, 0, None),
        (a_queue(40, running=20), 0, 0, None),  # twenty slots, jobs of some minutes
        (a_queue(5), 1_000, 990, None),  # jobs of low priority wait behind others
        # Slow, and not stopped.
        (a_queue(100), 0, 5, "which makes about 100 min"),
        (a_queue(20), 0, 1, "which makes about 100 min"),
        (a_queue(100, running=20), 4, 10, "which makes about 83 min"),
        (a_queue(30), 0, 0, "it does not get shorter"),
        (a_queue(100), 5, 5, "it does not get shorter"),
        # It grows, slowly or fast.
        (a_queue(8), 10, 1, "the backlog grows"),
        (a_queue(10_000), 9_000, 8_000, "the backlog grows"),
        # Old enough, whatever the pace.
        (a_queue(1, minutes=16), 0, 40, "which makes about 8 s"),
    ],
)
def test_a_backlog_is_slow_when_it_grows_or_will_take_long(
    queue: QueueView, came: int, ended: int, says: str | None
) -> None:
    told = slowness(queue, Trend(came, ended))
    assert (told is not None and says is not None and told.endswith(says)) or told is says, told
    assert told is None or told.startswith(f"they wait. In the last 5 min {came:,} came and {ended:,} ended")


def test_a_young_backlog_has_not_shown_its_pace() -> None:
    young = a_queue(100_000, minutes=4.9)
    assert not is_suspect(young) and slowness(young, Trend(100_000, 0)) is None
    assert not is_suspect(a_queue(0))


def test_who_waits_for_something_else_than_a_pace_is_told_elsewhere() -> None:
    assert not is_suspect(a_queue(minutes=60, served=False))
    others = {Health.PAUSED, Health.NO_ORCHESTRATOR, Health.NO_WORKER, Health.NO_HANDLER}
    assert {health for health in Health if not is_suspect(a_queue(minutes=60, health=health))} == others


def test_without_counts_only_age_tells() -> None:
    assert slowness(a_queue(1_000, minutes=14), None) is None
    assert slowness(a_queue(1, minutes=16), None) == "they wait"


async def test_a_queue_that_is_slow_and_then_grows(bench: Bench) -> None:
    """Jobs that have been due for a little more than five minutes, and one slot, which one job keeps."""

    async def warned() -> str:
        found = (await bench.get("/v1/doctor"))["findings"]
        mine = [one for one in found if f"--queues {bench.queue})" in (one["fix"] or "")]
        assert {(one["check"], one["severity"]) for one in mine} <= {("queues", "warning")}
        return "".join(one["says"] for one in mine)

    due: dict[str, Any] = {
        "kind": "hold",
        "run_at": format_instant(datetime.now(UTC) - SPAN - timedelta(seconds=20)),
    }
    async with bench.worker(hold, concurrency=1):
        for _ in range(3):
            await bench.submit(**due)
        await bench.backlog(running=1, queued=2)
        assert (await bench.view())["oldest_age"] > "5m"
        assert await warned() == "", "two more may be done soon"
        for _ in range(10):
            await bench.submit(**due)
        await bench.backlog(running=1, queued=12)
        told = await until(warned, lambda told: "0 came and 0 ended: it does not get shorter" in told)
        assert "12 jobs wait, the oldest for 5 min" in told
        for _ in range(8):
            await bench.submit(kind="hold")
        assert await until(warned, lambda told: "8 came and 0 ended: the backlog grows" in told)
        for job_id in bench.made:
            let_go(job_id)
        await bench.backlog()
        assert await warned() == ""
