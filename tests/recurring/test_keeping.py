"""Schedules of pipelines as they are put: what is refused, and with which pointer."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.contracts import limits
from duetime.worker import Worker
from tests.api.caller import Answer, faults, problem
from tests.api.conftest import calling
from tests.recurring.conftest import Recurring
from tests.schedules.test_bound_keys import greet
from tests.security.keyring import Keyring, bearer, settings
from tests.support.waiting import eventually

_TOO_MUCH = {f"j{number}": {"payload": {"text": "x" * 200_000}} for number in range(2)}


@pytest.mark.parametrize(
    ("jobs", "pointer", "said"),
    [
        ({"a": {"needs": ["b"]}, "b": {"needs": ["a"]}}, "/pipeline/jobs/a/needs", "wait for each other"),
        ({"a": {"needs": ["c"]}}, "/pipeline/jobs/a/needs/0", "no job 'c'"),
        ({"a": {"payload": {"x": {"$result": "b"}}}}, "/pipeline/jobs/a/payload/x", "no job 'b'"),
        ({"a": {"run_at": "2099-01-01T00:00:00Z"}}, "/pipeline/jobs/a/run_at", "the rule says when"),
        ({"a": {"after": ["other"]}}, "/pipeline/jobs/a/after", "leave it out"),
        ({"a": {"id": "x"}}, "/pipeline/jobs/a/id", "leave it out"),
        ({"a": {"timeout": "soon"}}, "/pipeline/jobs/a/timeout", ""),
        ({"n" * 65: {}}, f"/pipeline/jobs/{'n' * 65}", ""),
        (_TOO_MUCH, "/pipeline", "at most 262,144"),
        ({}, "/pipeline/jobs", "one job"),
    ],
)
async def test_a_pipeline_that_cannot_work_is_refused(
    recurring: Recurring, jobs: dict[str, Any], pointer: str, said: str
) -> None:
    found = faults(await recurring.put(jobs=jobs))
    assert any(at.startswith(pointer) for at in found), found
    if said:
        assert said in str(found), found


@pytest.mark.parametrize(
    ("fields", "pointer", "said"),
    [
        ({}, "/job", "or a `pipeline`"),
        ({"job": {"kind": "echo"}, "pipeline": {"jobs": {"a": {"kind": "echo"}}}}, "/pipeline", "leave one"),
        ({"pipeline": {"id": "x", "jobs": {"a": {"kind": "echo"}}}}, "/pipeline/id", "names its pipelines"),
        (
            {"pipeline": {"on_conflict": "return", "jobs": {"a": {"kind": "echo"}}}},
            "/pipeline/on_conflict",
            "`overlap`",
        ),
        ({"pipeline": {"job": {}, "jobs": {"a": {"kind": "echo"}}}}, "/pipeline/job", "`jobs`"),
    ],
)
async def test_a_run_is_one_job_or_one_pipeline(
    recurring: Recurring, fields: dict[str, Any], pointer: str, said: str
) -> None:
    found = faults(await recurring.http.put(recurring.path, json={"cron": "@daily", **fields}))
    assert pointer in found and said in str(found)


async def test_ids_of_jobs_have_room_beside_the_longest_id_of_a_run(recurring: Recurring) -> None:
    recurring.id = "s" * limits.ID_LENGTH
    room = limits.DERIVED_ID_LENGTH - limits.ID_LENGTH - len("~") - 32 - len("~")
    found = faults(await recurring.put(jobs={"n" * (room + 1): {}}))
    assert "at most 250" in str(found) and "/pipeline/jobs/" in str(found)
    assert (await recurring.put(jobs={"n" * room: {}})).status_code == 201


async def test_the_same_again_changes_nothing_and_a_job_of_it_does(recurring: Recurring) -> None:
    assert (await recurring.made())["revision"] == 1
    assert (await recurring.made())["revision"] == 1
    edited = await recurring.made(jobs={"first": {"payload": {"n": 1}}, "second": {"needs": ["first"]}})
    assert edited["revision"] == 2
    assert edited["spec"]["pipeline"]["jobs"]["first"]["payload"] == {"n": 1}


async def test_the_kinds_of_all_jobs_are_asked(recurring: Recurring, client: Client) -> None:
    def jobs(name: Any) -> dict[str, Any]:
        return {"a": {}, "b": {"kind": "greet-strictly", "payload": {"name": name}, "needs": ["a"]}}

    async with Worker(client, [greet], queues=[recurring.queue]):

        async def refused() -> Answer | None:  # what a worker announces is known a moment later
            bad = await recurring.put(jobs=jobs(7))
            return bad if bad.status_code == 422 else None

        assert "/pipeline/jobs/b/payload/name" in faults(await eventually(refused))
        await recurring.made(jobs=jobs("x"))
        await recurring.made(jobs=jobs({"$result": "a"}))
    described = await client.get_schedule_handle(recurring.id).describe()
    assert described.schedule.action.workflow == "Pipeline"  # type: ignore[union-attr]
    (kept,) = await client.data_converter.decode(described.schedule.action.args)  # type: ignore[union-attr]
    assert kept["jobs"]["b"]["timeout"] == "7s"


async def test_a_key_must_be_good_for_every_job(
    client: Client, orchestration: None, tmp_path: Path, recurring: Recurring
) -> None:
    keyring = Keyring(tmp_path / "keys.json")
    app = create_app(settings(api_keys_file=keyring.path), client)
    bound = bearer(keyring.add("operate", name="bound", queues=[recurring.queue], kinds=["echo"]))
    owner = bearer(keyring.add("operate", name="owner"))
    async with calling(app) as http:
        spec = recurring.spec(jobs={"a": {}, "b": {"kind": "noop"}})
        answer = await http.put(recurring.path, json=spec, headers=bound)
        problem(answer, 403, "not-allowed")
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/pipeline/jobs/b/kind"]
        applied = await http.post(
            "/v1/schedules:apply", json={"schedules": [{"id": recurring.id, **spec}]}, headers=bound
        )
        problem(applied, 403, "not-allowed")
        assert applied.json()["errors"][0]["pointer"] == "/schedules/0/pipeline/jobs/b/kind"
        assert (await http.put(recurring.path, json=spec, headers=owner)).status_code == 201
        problem(await http.get(recurring.path, headers=bound), 404, "not-found")
        assert (await http.put(recurring.path, json=recurring.spec(), headers=owner)).status_code == 200
        assert (await http.get(recurring.path, headers=bound)).status_code == 200


async def test_schedules_of_pipelines_are_applied_and_foreseen(recurring: Recurring) -> None:
    wanted = {"id": recurring.id, **recurring.spec(cron="17 * * * *")}

    async def apply(schedule: dict[str, Any], **how: Any) -> Any:
        return await recurring.http.post("/v1/schedules:apply", json={"schedules": [schedule], **how})

    bad = {**wanted, "pipeline": {"jobs": {"a": {"kind": "echo", "needs": ["z"]}}}}
    for dry_run in (True, False):
        assert "/schedules/0/pipeline/jobs/a/needs/0" in faults(await apply(bad, dry_run=dry_run))
    assert (await apply(wanted)).json()["created"] == [recurring.id]
    assert (await apply(wanted)).json()["unchanged"] == [recurring.id]
    wanted["pipeline"]["jobs"]["second"]["priority"] = 1
    (changed,) = (await apply(wanted, dry_run=True)).json()["changed"]
    assert changed["changes"] == [{"pointer": "/pipeline/jobs/second/priority", "from": None, "to": 1}]
    assert (await apply(wanted)).json()["changed"][0]["id"] == recurring.id
    assert (await recurring.get())["revision"] == 2
    seen = (await recurring.http.get("/v1/schedules:forecast", params={"hours": 2})).json()
    assert seen["unreadable"] == [] and seen["starts"] >= 2
