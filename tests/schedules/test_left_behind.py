"""A schedule whose workflow somebody terminated: the doctor finds it, and a `PUT` brings it back."""

from datetime import UTC, datetime, timedelta

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleIntervalSpec,
    ScheduleSpec,
)

from api.doctor.left_behind import left_behind
from api.doctor.schedules import examine_schedules
from api.schedules.reading import ScheduleReader
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.schedules.ids import entity_id
from tests.api.caller import problem
from tests.schedules.conftest import Scheduler
from tests.support.waiting import eventually


async def known(client: Client) -> set[str]:
    return {one.id async for one in ScheduleReader(client, "").summaries()}


async def test_one_that_nobody_looks_after_is_found_and_comes_back(
    client: Client, schedule: Scheduler
) -> None:
    await schedule.made(cron="0 3 1 1 *")
    # As while a list is behind: the close look decides.
    assert schedule.id not in await left_behind(client, await known(client) - {schedule.id})
    await client.get_workflow_handle(entity_id(schedule.id)).terminate()
    problem(await schedule.http.get(schedule.path), 404, "not-found")

    async def found() -> bool:
        return schedule.id in await left_behind(client, await known(client))

    await eventually(found)
    report = (await schedule.http.get("/v1/doctor")).json()
    (told,) = [one for one in report["findings"] if f"`{schedule.id}`" in one["says"]]
    assert (told["check"], told["severity"]) == ("schedules", "error")
    assert f"PUT {schedule.path}" in told["fix"]
    assert f"temporal schedule delete --schedule-id {schedule.id}" in told["fix"]

    await schedule.made(cron="0 3 1 1 *")
    assert (await schedule.get())["state"] == "active"
    assert not await found()


async def test_one_that_somebody_made_through_temporal_is_their_own(client: Client, queue: str) -> None:
    job = {"kind": "echo", "queue": queue}
    action = ScheduleActionStartWorkflow("Job", job, id=queue, task_queue=ORCHESTRATION_QUEUE)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(days=30))])
    theirs = await client.create_schedule(f"theirs-{queue}", Schedule(action=action, spec=spec))
    try:

        async def listed() -> bool:
            return theirs.id in [one.id async for one in await client.list_schedules()]

        await eventually(listed)
        assert theirs.id not in await left_behind(client, await known(client))
    finally:
        await theirs.delete()


def test_an_odd_id_is_quoted_for_the_shell() -> None:
    (told,) = examine_schedules([], datetime.now(UTC), ["nightly; reboot"])
    assert told.fix is not None and told.fix.endswith("--schedule-id 'nightly; reboot'")
