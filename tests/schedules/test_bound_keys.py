"""Keys that are bound to queues and kinds see and keep schedules of such jobs alone."""

import uuid
from pathlib import Path

from pydantic import BaseModel
from temporalio.client import Client

from api.app import create_app
from duetime import handler
from duetime.worker import Worker
from tests.api.caller import faults, problem
from tests.api.conftest import calling
from tests.schedules.conftest import Scheduler
from tests.security.keyring import Keyring, bearer, settings
from tests.support.waiting import eventually


class Greeting(BaseModel):
    name: str


@handler("greet-strictly", timeout="7s")
async def greet(greeting: Greeting) -> str:
    return greeting.name


async def test_a_schedule_of_others_is_unknown(client: Client, orchestration: None, tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "keys.json")
    app = create_app(settings(api_keys_file=keyring.path), client)
    owner = bearer(keyring.add("operate", name="owner"))
    bound = bearer(keyring.add("operate", name="bound", queues=["mine"], kinds=["noop"]))
    reader = bearer(keyring.add("read", name="reader"))
    async with calling(app) as http:
        name = f"s-{uuid.uuid4().hex[:12]}"
        theirs, ours = Scheduler(http, "theirs", f"{name}-theirs"), Scheduler(http, "mine", f"{name}-ours")
        spec = theirs.spec(job={"kind": "noop"})
        made = await http.put(theirs.path, json=spec, headers=owner)
        assert (made.status_code, made.json()["updated_by"]) == (201, "owner")
        problem(await http.put(theirs.path, json=spec, headers=reader), 403, "not-allowed")

        problem(await http.get(theirs.path, headers=bound), 404, "not-found")
        problem(await http.get(f"{theirs.path}/occurrences", headers=bound), 404, "not-found")
        problem(await http.delete(theirs.path, headers=bound), 404, "not-found")
        for command, body in (
            ("pause", {"reason": "x"}),
            ("resume", {}),
            ("trigger", {}),
            ("backfill", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}),
            ("occurrences/2099-01-01T00:00:00Z:skip", {}),
        ):
            place = f"{theirs.path}/{command}" if "/" in command else f"{theirs.path}:{command}"
            problem(await http.post(place, json=body, headers=bound), 404, "not-found")
        answer = await http.put(theirs.path, json=spec, headers=bound)
        problem(answer, 403, "not-allowed")
        assert list({fault["pointer"] for fault in answer.json()["errors"]}) == ["/job/queue"]
        taken = await http.put(theirs.path, json=ours.spec(job={"kind": "noop"}), headers=bound)
        problem(taken, 409, "id-in-use")

        mine = await http.put(ours.path, json=ours.spec(job={"kind": "noop"}), headers=bound)
        assert mine.status_code == 201
        listed = await http.get("/v1/schedules", headers=bound, params={"limit": 200})
        assert theirs.id not in {row["id"] for row in listed.json()["schedules"]}
        for one in (theirs, ours):
            assert (await http.delete(one.path, headers=owner)).status_code == 204


async def test_what_the_kind_announced_holds_for_the_job_of_a_schedule(
    schedule: Scheduler, client: Client
) -> None:
    async with Worker(client, [greet], queues=[schedule.queue]):

        async def is_known() -> bool:  # a moment after it was announced
            return (await schedule.http.get("/v1/kinds/greet-strictly")).status_code == 200

        await eventually(is_known)
        bad = await schedule.put(cron="0 3 * * *", job={"kind": "greet-strictly", "payload": {"name": 7}})
        assert "/job/payload/name" in faults(bad)
        good = await schedule.put(cron="0 3 * * *", job={"kind": "greet-strictly", "payload": {"name": "x"}})
        assert good.status_code == 201
    described = await client.get_schedule_handle(schedule.id).describe()
    (job,) = await client.data_converter.decode(described.schedule.action.args)
    # The kind's defaults are the job's.
    assert job["timeout"] == "7s"
