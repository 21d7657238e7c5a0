"""What is refused, what is listed, and who may see it."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from api.bulk.plans import check_size, redrive_plan
from api.bulk.requests import BulkRedrive
from api.problems import Problem
from duetime.contracts.bulk import MOST_JOBS, ErrorGroup, Tally, merged
from tests.api.conftest import calling
from tests.bulk.conftest import Bulk, fail, states
from tests.security.keyring import Keyring, bearer, settings
from tests.support.waiting import eventually


@pytest.mark.parametrize(
    ("action", "body", "pointer", "says"),
    [
        ("retry", {"filter": {}}, "/filter", "name what the jobs have in common"),
        ("retry", {}, "/filter", "is required"),
        ("retry", {"filter": {"state": ["running"]}}, "/filter/state", "only final jobs"),
        ("retry", {"filter": {"kind": "a", "stat": "x"}}, "/filter/stat", "did you mean `state`?"),
        ("retry", {"filter": {"kind": "a' OR 1"}}, "/filter/kind", "may hold letters, digits and"),
        ("retry", {"filter": {"kind": "a", "created_after": 0}}, "/filter/created_after", "RFC 3339"),
        ("cancel", {"filter": {"kind": "a", "created_before": True}}, "/filter/created_before", "RFC 3339"),
        ("retry", {"filter": {"[": 1}}, "/filter/[", "unknown field"),
        ("retry", {"filter": {"kind": "a"}, "rate": 0}, "/rate", "0.1"),
        ("retry", {"filter": {"kind": "a"}, "canary": 101}, "/canary", "100"),
        ("retry", {"filter": {"kind": "a"}, "run_id": "x"}, "/run_id", "one job"),
        ("cancel", {"filter": {"state": ["failed"]}}, "/filter/state", "only open jobs"),
        ("cancel", {"filter": {"kind": "a"}, "canary": 1}, "/canary", "unknown field"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    http: httpx2.AsyncClient, action: str, body: dict[str, Any], pointer: str, says: str
) -> None:
    answer = await http.post(f"/v1/jobs:{action}", json=body)
    assert answer.status_code == 422, answer.text
    found = {fault["pointer"]: fault["message"] for fault in answer.json()["errors"]}
    assert says in found[pointer]


def test_one_state_or_tag_may_stand_for_a_list_of_one_and_the_schema_says_so() -> None:
    said = BulkRedrive.model_validate({"filter": {"tag": "tenant:1", "state": "failed"}}).filter
    assert (said.tag, said.state) == (["tenant:1"], ["failed"])
    fields = BulkRedrive.model_json_schema()["$defs"]["Selection"]["properties"]
    assert fields["tag"]["anyOf"][1]["type"] == "string"
    assert fields["state"]["anyOf"][1] == {"$ref": "#/$defs/State"}


def test_more_than_an_operation_takes_is_refused_with_the_way_out() -> None:
    plan = redrive_plan(BulkRedrive.model_validate({"filter": {"kind": "a"}}))
    check_size(MOST_JOBS, plan)
    with pytest.raises(Problem, match=r"holds 100,001 jobs; an operation takes 100,000: narrow it"):
        check_size(MOST_JOBS + 1, plan)
    with pytest.raises(Problem, match="longer than 30 days"):
        check_size(MOST_JOBS, plan.model_copy(update={"rate": 0.01}))


async def test_nobody_knows_it(http: httpx2.AsyncClient) -> None:
    for method, path in (("GET", ""), ("POST", ":run"), ("POST", ":stop")):
        answer = await http.request(method, f"/v1/operations/nothing{path}")
        assert answer.status_code == 404 and "no operation has the id 'nothing'" in answer.json()["detail"]


async def test_a_job_is_no_operation(bulk: Bulk) -> None:
    (made,) = await bulk.submit(1)
    assert (await bulk.http.get(f"/v1/operations/{made}")).status_code == 404


async def test_the_list_has_them_page_by_page(bulk: Bulk) -> None:
    made = {(await bulk.ended(await bulk.begin("retry")))["id"] for _ in range(3)}

    async def all_over() -> bool:
        page = (await bulk.http.get("/v1/operations", params={"limit": "100"})).json()["operations"]
        return {one["id"] for one in page if one["finished_at"]} >= made

    await eventually(all_over)
    found: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await bulk.http.get("/v1/operations", params=query)).json()
        assert len(page["operations"]) <= 2
        found += [operation["id"] for operation in page["operations"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert made <= set(found) and len(found) == len(set(found))
    for forged in ("!", "AAAA"):
        answer = await bulk.http.get("/v1/operations", params={"cursor": forged})
        assert answer.status_code == 422, answer.text


async def test_only_a_frozen_one_is_run_and_only_an_open_one_stopped(bulk: Bulk) -> None:
    ended = await bulk.ended(await bulk.begin("retry"))
    for command in ("run", "stop"):
        answer = await bulk.command(ended, command)
        assert answer.status_code == 409 and answer.json()["state"] == "done"
    frozen = await bulk.begin("cancel", dry_run=True)
    refused = await bulk.command(frozen, "run", canary=2)
    assert refused.status_code == 422 and "is for redrives" in refused.json()["detail"]
    stopped = await bulk.command(frozen, "stop")
    assert stopped.status_code == 202
    assert (await bulk.ended(frozen))["state"] == "stopped"


async def test_a_bound_key_acts_on_its_own_alone(
    bulk: Bulk, worker: object, client: Client, tmp_path: Path
) -> None:
    made, others = await fail(bulk, 2), await fail(bulk, 3, "bulk.breaks")
    bulk.mended = True
    keyring = Keyring(tmp_path / "keys.json")
    bound = bearer(keyring.add("operate", kinds=["bulk.work"]))
    stranger = bearer(keyring.add("operate", kinds=["bulk.breaks"]))
    everybody = bearer(keyring.add("operate"))
    app = create_app(settings(api_keys_file=keyring.path), client)
    async with calling(app) as http:
        body = {"filter": {"queue": bulk.queue}}
        begun = (await http.post("/v1/jobs:retry", json=body, headers=bound)).json()
        assert (await bulk.ended(begun))["total"] == 2
        for headers, status in ((bound, 200), (everybody, 200), (stranger, 404)):
            answer = await http.get(begun["links"]["self"], headers=headers)
            assert answer.status_code == status
        for headers, seen in ((bound, True), (everybody, True), (stranger, False)):
            listed = (await http.get("/v1/operations?limit=100", headers=headers)).json()
            assert (begun["id"] in {one["id"] for one in listed["operations"]}) is seen
        all_of_them = (
            await http.post("/v1/jobs:retry", json=body | {"dry_run": True}, headers=everybody)
        ).json()
        for command in ("run", "stop"):
            answer = await http.post(f"{all_of_them['links']['self']}:{command}", headers=bound)
            assert answer.status_code == 404, "it holds jobs that this key does not see"
    await bulk.counted(2, state="succeeded")
    assert bulk.ran == dict.fromkeys(made, 2) | dict.fromkeys(others, 1)
    assert await states(bulk, others) == ["failed"] * 3


def test_counts_add_up_and_rare_errors_are_one() -> None:
    tally = Tally(done=1, skipped={"open": 2}).plus(Tally(skipped={"open": 1, "gone": 1}, failed=3))
    assert (tally.total, tally.skipped) == (8, {"open": 3, "gone": 1})
    groups: list[ErrorGroup] = []
    for number in range(30):
        groups = merged(groups, [ErrorGroup(type=f"E{number}", count=number + 1, example=str(number))])
    assert len(groups) == 20 and sum(group.count for group in groups) == sum(range(1, 31))
    assert groups[0].type == "E29" and groups[-1].type == "(other)"
