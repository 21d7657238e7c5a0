"""Numbers of schedules for monitoring: right ones, of a bounded number of schedules, at a bounded cost."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.observe.schedules import ScheduleMetrics
from api.schedules import figures
from api.schedules.figures import Figures, Tally, Teller, chosen, figures_of
from api.schedules.reading import ScheduleReader
from duetime.contracts.schedule_book import Server
from duetime.contracts.schedule_view import ScheduleState, ScheduleSummary
from duetime.worker import Worker
from tests.operations.scraping import Samples, read
from tests.schedules.conftest import Scheduler, soon
from tests.support.waiting import eventually

ACTIVE, FINISHED = ScheduleState.ACTIVE, ScheduleState.FINISHED
NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)


def shown(tally: Tally) -> Samples:
    registry = CollectorRegistry()
    registry.register(ScheduleMetrics(tally))
    return read(generate_latest(registry).decode())


class Crowd:
    """So many schedules, and how often each was asked about; a clock that the test turns."""

    def __init__(self, count: int) -> None:
        self.ids = [f"s{number:04}" for number in range(count)]
        self.asked: list[str] = []
        self.silent: set[str] = set()
        self.now = 0.0
        self.teller = Teller(self.summaries, self.ask, lambda: self.now)

    async def summaries(self) -> AsyncIterator[ScheduleSummary]:
        for one in self.ids:
            yield ScheduleSummary(
                id=one,
                state=ACTIVE,
                revision=1,
                in_words="",
                kind="k",
                queue="q",
                created_at=NOW,
                updated_at=NOW,
                updated_by="a",
            )

    async def ask(self, schedule_id: str) -> Figures:
        self.asked.append(schedule_id)
        if schedule_id in self.silent:
            raise RPCError("busy", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
        return Figures(Server(exists=True, fired=self.asked.count(schedule_id)))

    async def look(self) -> Tally:
        self.asked.clear()
        return await self.teller.look()


async def test_metrics_tell_what_the_schedule_tells(
    client: Client, schedule: Scheduler, worker: Worker
) -> None:
    await schedule.made(at=[soon(3)])

    async def told() -> dict[str, object] | None:
        found = await schedule.get()
        return found if found["last_success"] else None

    found = await eventually(told)
    known = await figures_of(client, schedule.id)
    seen = shown(Tally(figures={schedule.id: known}))
    counters = found["counters"]
    assert isinstance(counters, dict) and isinstance(found["last_success"], dict)
    assert counters["fired"] == 1
    assert seen["duetime_schedule_fires_total", (schedule.id,)] == 1
    assert seen["duetime_schedule_missed_total", (schedule.id,)] == counters["missed"] == 0
    assert seen["duetime_schedule_skipped_by_overlap_total", (schedule.id,)] == 0
    ended = datetime.fromisoformat(str(found["last_success"]["finished_at"])).timestamp()
    assert seen["duetime_schedule_last_success_timestamp_seconds", (schedule.id,)] == pytest.approx(
        ended, abs=1
    )


async def test_all_are_found_and_asked_about(client: Client, schedule: Scheduler) -> None:
    await schedule.made(cron="0 3 * * *")

    async def listed() -> bool:
        return any([one.id == schedule.id async for one in ScheduleReader(client, "").summaries()])

    await eventually(listed)
    asked: list[str] = []

    async def ask(schedule_id: str) -> Figures:
        asked.append(schedule_id)
        return await figures_of(client, schedule_id)

    tally = await Teller(ScheduleReader(client, "").summaries, ask).look()
    assert sum(tally.states.values()) >= 1 and tally.states[ACTIVE] >= 1
    assert asked and set(tally.figures) <= set(asked)


def test_each_number_is_that_of_its_name() -> None:
    known = Figures(Server(exists=True, fired=3, missed=2, skipped=1), NOW, 4)
    seen = shown(Tally(figures={"s": known, "forgotten": Figures(Server(), NOW)}, left_out=7))
    assert seen["duetime_schedule_fires_total", ("s",)] == 3
    assert seen["duetime_schedule_missed_total", ("s",)] == 2 + 4
    assert seen["duetime_schedule_skipped_by_overlap_total", ("s",)] == 1
    assert seen["duetime_schedule_last_success_timestamp_seconds", ("s",)] == NOW.timestamp()
    assert seen["duetime_schedules_left_out", ()] == 7
    assert {name for name, labels in seen if labels == ("forgotten",)} == {
        "duetime_schedule_last_success_timestamp_seconds"
    }


async def test_a_look_asks_about_a_few_and_comes_to_all() -> None:
    crowd = Crowd(60)
    for number in (25, 50, 60):
        tally = await crowd.look()
        assert len(crowd.asked) <= 25 and sorted(tally.figures) == crowd.ids[:number]
    await crowd.look()
    assert crowd.asked == []  # all are fresh
    crowd.now = 40.0
    await crowd.look()
    assert len(crowd.asked) == 25
    crowd.ids = crowd.ids[30:]
    assert sorted((await crowd.look()).figures) == crowd.ids  # who is gone is forgotten


async def test_one_that_is_not_told_of_keeps_its_numbers_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(figures, "_PORTION", 1)
    crowd = Crowd(2)
    await crowd.look()
    await crowd.look()
    crowd.silent, crowd.now = {"s0000"}, 40.0
    assert len((await crowd.look()).figures) == 2 and crowd.asked == ["s0000"]
    assert len((await crowd.look()).figures) == 2 and crowd.asked == ["s0001"]


async def test_beyond_a_bound_schedules_are_counted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST", 3)
    tally = await Crowd(5).look()
    assert (sorted(tally.figures), tally.left_out) == (["s0000", "s0001", "s0002"], 2)
    assert tally.states == {ACTIVE: 5}
    assert chosen([("a", FINISHED), ("d", ACTIVE), ("b", FINISHED), ("c", ACTIVE)]) == ["c", "d", "a"]
