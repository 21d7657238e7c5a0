"""A list while everything moves, with the worst timing that can be drawn: see `mirror` for the world it is of."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from temporalio.client import WorkflowExecutionStatus as Status

from api.jobs import walk
from api.jobs.filters import JobFilter
from api.jobs.listing import Lister
from tests.listing.mirror import MirrorLister, Run, World


async def pages(lister: Lister, wanted: JobFilter, limit: int, between: Callable[[], None]) -> list[str]:
    """The ids of a whole list."""
    told: list[str] = []
    cursor = None
    while True:
        page = await lister.page(wanted, limit, cursor)
        assert len(page.jobs) <= limit
        told += [job.id for job in page.jobs]
        cursor = page.next_cursor
        if cursor is None:
            return told
        between()


class Mover:
    """Lets something happen to a world, as drawn."""

    def __init__(self, world: World, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.world = world
        self._draw = draw
        self._fresh = 0
        self._went_on: set[str] = set()
        #: How many things may still happen.
        self.left = 60

    def __call__(self) -> None:
        for _ in range(self._draw(st.integers(0, 3))):
            self.move()

    def next_page(self) -> None:
        self._went_on.clear()
        self()

    def move(self) -> None:
        if not self.left:
            return
        self.left -= 1
        running = [run for run in self.world.runs.values() if run.status is Status.RUNNING]
        match self._draw(st.sampled_from(["hear", "hear", "close", "close", "start", "go on"])):
            case "hear" if self.world.unheard:
                self.world.hear(self._draw(st.integers(0, 5)))
            case "close" if running:
                self.world.close(self._draw(st.sampled_from(running)))
            case "go on" if settled := self._settled(running):
                run = self._draw(st.sampled_from(settled))
                self._went_on.add(run.job)
                self.world.go_on(run)
            case "start":
                self._fresh += 1
                self.world.start(f"fresh-{self._fresh}")

    def _settled(self, running: list[Run]) -> list[Run]:
        """Those that may go on: a run that does lasts far longer than the index lags, or one page takes."""
        unheard = {self.world.runs[run_id].job for run_id in self.world.unheard}
        return [run for run in running if run.job not in unheard | self._went_on]


@pytest.mark.parametrize("states", [[], ["running"], ["queued"], ["succeeded"], ["queued", "succeeded"]])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_list_tells_each_job_once_whatever_happens_meanwhile(
    states: list[str], data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MOST", data.draw(st.sampled_from([2, 3, 1000])))
    monkeypatch.setattr(walk, "_ANSWERS", data.draw(st.integers(1, 2)))
    world = World()
    old = [f"old-{number}" for number in range(data.draw(st.integers(0, 14)))]
    runs = [world.start(job) for job in old]
    for run in runs:
        if data.draw(st.booleans()):
            world.close(run)
    # The list is of what the index knows; what it has not heard of yet has not arrived.
    for _ in range(len(old) * 2 // 3 if data.draw(st.booleans()) else len(world.unheard)):
        world.hear(data.draw(st.integers(0, 5)))
    move = Mover(world, data.draw)
    known: list[set[str]] = []

    def happen() -> None:
        move()
        if not known:
            # Between two runs of a job the index may know neither; it then has not arrived.
            known.append({run.job for run in world.indexed() if run.status is not Status.CONTINUED_AS_NEW})

    lister = MirrorLister(world, happen)
    told = asyncio.run(
        pages(
            lister, JobFilter.model_validate({"state": states}), data.draw(st.integers(1, 6)), move.next_page
        )
    )
    assert [job for job, times in Counter(told).items() if times > 1] == []
    if not states:
        assert known[0] - set(told) == set()
