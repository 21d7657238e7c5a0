"""What a time does that comes while a run is open, for each `overlap`; and runs of a schedule that is deleted."""

import asyncio
from typing import Any, get_args

from temporalio.client import Client

from duetime.contracts.instants import parse_instant
from duetime.contracts.schedule import Overlap
from duetime.contracts.schedule_book import BOOK
from duetime.schedules.ids import entity_id, run_id
from duetime.worker import Worker
from tests.api.caller import problem
from tests.api.stage import Stage
from tests.schedules.conftest import Scheduler, later, passed, soon
from tests.support.waiting import eventually

FINAL = {"succeeded", "failed", "cancelled"}
#: How the runs of three times end of which the first two are still open when the next one comes; then all may end.
ENDS: dict[str, list[str | None]] = {
    "skip": ["succeeded", None, None],
    "queue_one": ["succeeded", "succeeded", None],
    "queue_all": ["succeeded", "succeeded", "succeeded"],
    "allow": ["succeeded", "succeeded", "succeeded"],
    "cancel_running": ["cancelled", "cancelled", "succeeded"],
    "terminate_running": ["cancelled", "cancelled", "succeeded"],
}
#: What the account says of the times before any run may end.
MEANWHILE = {
    "skip": ["fired", "skipped_overlap", "skipped_overlap"],
    "queue_one": ["fired", "queued", "skipped_overlap"],
    "queue_all": ["fired", "queued", "queued"],
    "allow": ["fired", "fired", "fired"],
    "cancel_running": ["fired", "fired", "fired"],
    "terminate_running": ["fired", "fired", "fired"],
}


async def test_each_policy_does_what_it_says(schedule: Scheduler, worker: Worker, stage: Stage) -> None:
    first = soon(5)
    times = [first, later(first, 3), later(first, 6)]
    made = {
        name: Scheduler(schedule.http, schedule.queue, f"{schedule.id}-{name}") for name in get_args(Overlap)
    }
    await asyncio.gather(
        *(one.made(at=times, overlap=name, job={"kind": "gate"}) for name, one in made.items())
    )

    async def meanwhile() -> bool:
        found = {name: list((await one.states(times[0], times[2])).values()) for name, one in made.items()}
        return found == MEANWHILE

    await passed(times[2])
    await eventually(meanwhile)
    for one in made.values():
        for time in times:
            await stage.release(run_id(one.id, parse_instant(time)))

    async def ends(one: Scheduler) -> list[str | None]:
        states = {job["nominal_time"]: job["state"] for job in await one.jobs()}
        return [states.get(time) for time in times]

    async def over() -> dict[str, Any]:
        found = {name: await ends(one) for name, one in made.items()}
        return found if found == ENDS else {}

    await eventually(over)
    assert (await made["skip"].get())["counters"]["skipped_by_overlap"] == 2
    await asyncio.gather(*(schedule.http.delete(one.path) for one in made.values()))


async def test_the_run_of_a_deleted_schedule_goes_on_and_is_not_the_new_ones(
    schedule: Scheduler, worker: Worker, stage: Stage
) -> None:
    due = soon(4)
    await schedule.made(at=[due, later(due, 1), later(due, 3600)], job={"kind": "gate"})
    job_id = run_id(schedule.id, parse_instant(due))
    await stage.began(job_id)
    assert (await schedule.http.delete(schedule.path)).status_code == 204
    answer = await schedule.put(cron="0 0 1 1 *", job={"kind": "gate"})
    assert (answer.status_code, answer.json()["counters"]["fired"]) == (201, 0)
    job = (await schedule.http.get(f"/v1/jobs/{job_id}")).json()
    assert job["state"] == "running"
    assert await schedule.occurrences(due, later(due, 1)) == []
    await stage.release(job_id)
    final = await schedule.http.get(f"/v1/jobs/{job_id}/result", params={"wait": "20s"})
    assert final.json()["state"] == "succeeded"
    await passed(later(due, 2))
    assert len(await schedule.jobs()) == 1
    problem(await schedule.skip(later(due, 3600)), 404, "not-found")


async def test_times_that_met_a_run_are_no_reason_to_look_again(schedule: Scheduler, client: Client) -> None:
    """Nobody works for this queue: the first run is in the way of every other second."""
    await schedule.made(cron="* * * * * *")
    handle = client.get_workflow_handle(entity_id(schedule.id))

    async def skipped() -> int:
        return int((await schedule.get())["counters"]["skipped_by_overlap"])

    async def seen() -> Any:
        book = await (await handle.describe()).memo_value(BOOK)
        return book if book.get("missed_seen") else None

    await eventually(skipped)
    await handle.signal("check")
    book = await eventually(seen)
    assert "look_at" not in book and "noticed_at" not in book
    assert len(await schedule.nominals()) == 1
    counters = (await schedule.get())["counters"]
    assert (counters["missed"], counters["made_up"]) == (0, 0)
