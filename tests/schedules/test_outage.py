"""What runs after the server was down: the table of overlap × catch-up in `docs/schedules.md`, with its exact sets."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from activities.schedules.server import look
from activities.schedules.waking import waking_schedules
from api.app import create_app
from duetime.connection import connect
from duetime.contracts.instants import format_instant, parse_instant
from duetime.contracts.schedule import Overlap
from duetime.contracts.schedule_book import BOOK
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.schedules.ids import entity_id
from duetime.worker import Worker
from tests.api.conftest import calling, settings
from tests.api.stage import echo
from tests.recurring.conftest import Recurring
from tests.schedules.conftest import Scheduler, later, passed
from tests.support.waiting import eventually
from workflows.worker import orchestrator

#: Seconds after the server was killed: three times that it missed, and one that is still on time when it is back.
MISSED, ON_TIME, BACK = [1, 2, 3], 13, 14
ALL = [*MISSED, ON_TIME]
NEWEST_FIRST = [ON_TIME, *MISSED]
POLICIES = ("all", "latest", "none")


def cells() -> Iterator[tuple[Overlap, str, list[int], list[int]]]:
    """Overlap, policy, the seconds that the rule names, and those that run."""
    for overlap in get_args(Overlap):
        yield overlap, "all", ALL, ALL
        yield overlap, "latest", ALL, [ON_TIME]
        yield overlap, "latest", MISSED, [3]
        yield overlap, "none", ALL, [ON_TIME]


def together(jobs: list[dict[str, Any]]) -> bool:
    """Whether two of these ran at the same time."""
    ordered = sorted(jobs, key=lambda job: str(job["created_at"]))
    return any(job["finished_at"] > following["created_at"] for job, following in pairwise(ordered))


async def test_what_was_missed_runs_as_the_table_says(tmp_path: Path) -> None:
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path, ui_port=None))
    await engine.start()
    try:
        client = await connect(engine.address)
        app = create_app(settings().model_copy(update={"data_dir": tmp_path / "api"}), client)
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(calling(app))
            begin = format_instant((datetime.now(UTC) + timedelta(seconds=16)).replace(microsecond=0))

            def instants(seconds: list[int]) -> list[str]:
                return [later(begin, second) for second in seconds]

            made = []
            for number, (overlap, policy, times, runs) in enumerate(cells()):
                schedule = Scheduler(http, "outage", f"s{number}-{overlap}-{policy}")
                made.append((schedule, overlap, policy, times, runs))
            pipelines = Recurring(http, "outage", "of-pipelines")
            #: Its first run is open all the while: there is no worker for it.
            blocked = Scheduler(http, "of-nobody", "blocked")
            async with orchestrator(client):
                await asyncio.gather(
                    pipelines.made(at=instants([*ALL, 3600]), overlap="skip"),
                    blocked.made(at=instants([-1, *ALL, 3600])),
                    *(
                        one.made(at=instants([*times, 3600]), overlap=overlap, catch_up={"policy": policy})
                        for one, overlap, policy, times, _ in made
                    ),
                )
            assert datetime.now(UTC) < parse_instant(begin), "this machine is too slow: begin later"
            await passed(begin)

            async def is_open() -> bool:
                return bool((await look(client, blocked.id)).running)

            await eventually(is_open)  # to the scheduler, too
            await engine.kill()
            await passed(later(begin, BACK))
            await engine.start()
            # Workers of before would come back too, by and by.
            fresh = await connect(engine.address)
            for worker in (
                orchestrator(fresh),
                waking_schedules(fresh),
                Worker(fresh, [echo], queues=["outage"]),
            ):
                await stack.enter_async_context(worker)

            async def settled(schedule: Scheduler, count: int) -> bool:
                memo = await (await client.get_workflow_handle(entity_id(schedule.id)).describe()).memo_value(
                    BOOK
                )
                judged = parse_instant(memo["judged_until"]) > parse_instant(later(begin, MISSED[-1]))
                return judged and len(await schedule.jobs()) >= count

            for schedule, overlap, policy, times, runs in made:

                async def is_settled(schedule: Scheduler = schedule, count: int = len(runs)) -> bool:
                    return await settled(schedule, count)

                await eventually(is_settled)
                cell = f"{overlap}, {policy}, {times}"
                assert await schedule.nominals() == instants(runs), cell
                states = await schedule.states(begin, later(begin, 20))
                missed = [second for second in times if second not in runs]
                assert [at for at, state in states.items() if state == "missed"] == instants(missed), cell

            for schedule, overlap, policy, _, runs in made:
                if overlap != "allow" and policy == "all":

                    async def ended(schedule: Scheduler = schedule, count: int = len(runs)) -> list[Any]:
                        found = [job for job in await schedule.jobs() if job["finished_at"]]
                        return found if len(found) == count else []

                    jobs = await eventually(ended)
                    assert not together(jobs), (overlap, jobs)
                    late = sorted(jobs, key=lambda job: str(job["created_at"]))
                    order = [job["nominal_time"] for job in late]
                    assert order == instants(ALL if overlap in ("skip", "queue_all") else NEWEST_FIRST), (
                        overlap
                    )

            counters = (await made[0][0].get())["counters"]
            assert [counters[name] for name in ("missed", "made_up", "skipped_by_overlap")] == [3, 3, 0]

            async def is_blocked() -> bool:
                return await settled(blocked, 1)

            await eventually(is_blocked)
            assert await blocked.nominals() == instants([-1])
            assert set((await blocked.states(begin, later(begin, 20))).values()) == {"skipped_overlap"}

            begun = await pipelines.until_begun(len(ALL))
            assert [(await pipelines.final(one["id"]))["nominal_time"] for one in begun] == instants(ALL)
    finally:
        await engine.kill()
