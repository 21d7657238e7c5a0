"""`apply` and `forecast` over the real engine, by a caller who is bound to the test's own queue."""

import os
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from api.schedules import applying
from tests.api.caller import Answer, problem
from tests.api.conftest import calling
from tests.security.keyring import Keyring, bearer, settings
from tests.support.waiting import eventually

Json = dict[str, Any]
MANY = int(os.environ.get("DUETIME_MANY_SCHEDULES", "0"))


class Applier:
    """Applies schedules of one queue."""

    def __init__(self, http: httpx2.AsyncClient, queue: str) -> None:
        self.http, self.queue = http, queue

    def named(self, name: str, **fields: Any) -> Json:
        rule = {} if fields.keys() & {"cron", "every", "at"} else {"cron": "0 0 1 1 *"}
        job = {"kind": "echo", "queue": self.queue} | fields.pop("job", {})
        return {"id": f"{self.queue}-{name}", **rule, **fields, "job": job}

    async def apply(self, schedules: list[Json], **how: Any) -> Answer:
        return await self.http.post("/v1/schedules:apply", json={"schedules": schedules, **how})

    async def applied(self, schedules: list[Json], **how: Any) -> Json:
        answer = await self.apply(schedules, **how)
        assert answer.status_code == 200, answer.text
        return {
            name: [self._short(one) for one in found] if isinstance(found, list) else found
            for name, found in answer.json().items()
        }

    def _short(self, one: Any) -> Any:
        if isinstance(one, str):
            return one.removeprefix(f"{self.queue}-")
        return {**one, "id": one["id"].removeprefix(f"{self.queue}-")}

    async def listed(self) -> list[str]:
        found, cursor = [], ""
        while cursor is not None:
            answer = await self.http.get("/v1/schedules", params={"limit": 200, "cursor": cursor})
            page = answer.json()
            found += [self._short(one["id"]) for one in page["schedules"]]
            cursor = page["next_cursor"]
        return found

    async def until_listed(self, *names: str) -> None:
        async def are() -> bool:
            return await self.listed() == sorted(names)

        await eventually(are)


@pytest.fixture
async def applier(
    client: Client, orchestration: None, queue: str, keyring: Keyring
) -> AsyncIterator[Applier]:
    headers = bearer(keyring.add("operate", "submit", queues=[queue]))
    app = create_app(settings(api_keys_file=keyring.path), client)
    async with calling(app) as http:
        http.headers.update(headers or {})
        found = Applier(http, queue)
        yield found
        for name in await found.listed():
            await http.delete(f"/v1/schedules/{queue}-{name}")


@pytest.fixture
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Keyring:
    return Keyring(tmp_path_factory.mktemp("keys") / "keys.json")


async def test_the_diff_is_what_is_then_done(applier: Applier) -> None:
    first = [applier.named(str(number), note=f"number {number}") for number in range(8)]
    made = await applier.applied(first)
    assert (made["created"], made["changed"], made["left"]) == ([str(number) for number in range(8)], [], [])
    await applier.until_listed(*made["created"])

    second = first[:6]
    second[1] = applier.named("1", note="number 1", cron="0 3 * * *", timezone="Europe/Paris")
    second[4] = applier.named("4", note="number 4", job={"payload": {"region": "eu"}})
    second.append(applier.named("9"))
    dry = await applier.applied(second, prune=True, dry_run=True)
    assert dry == {
        "dry_run": True,
        "created": ["9"],
        "changed": [
            {
                "id": "1",
                "changes": [
                    {"pointer": "/cron", "from": "0 0 1 1 *", "to": "0 3 * * *"},
                    {"pointer": "/timezone", "from": None, "to": "Europe/Paris"},
                ],
            },
            {
                "id": "4",
                "changes": [{"pointer": "/job/payload", "from": None, "to": {"region": "eu"}}],
            },
        ],
        "unchanged": ["0", "2", "3", "5"],
        "pruned": ["6", "7"],
        "failed": [],
        "left": [],
    }
    assert await applier.listed() == [str(number) for number in range(8)], "nothing was done yet"

    done = await applier.applied(second, prune=True)
    assert done == {**dry, "dry_run": False}
    await applier.until_listed("0", "1", "2", "3", "4", "5", "9")
    again = await applier.applied(second, prune=True)
    assert (again["created"], again["changed"], again["pruned"]) == ([], [], [])
    assert len(again["unchanged"]) == 7


async def test_what_an_operator_paused_and_what_is_not_named_stays(applier: Applier) -> None:
    await applier.applied([applier.named("a"), applier.named("b")])
    paused = await applier.http.post(f"/v1/schedules/{applier.queue}-a:pause", json={"reason": "month end"})
    assert paused.status_code == 200, paused.text
    await applier.applied([applier.named("a", cron="0 4 * * *")])
    found = (await applier.http.get(f"/v1/schedules/{applier.queue}-a")).json()
    assert (found["spec"]["cron"], found["paused"]["reason"]) == ("0 4 * * *", "month end")
    await applier.until_listed("a", "b")


async def test_nothing_is_touched_when_one_cannot_be(applier: Applier) -> None:
    never = applier.named("never", cron=["@daily", "0 0 30 2 *"])
    answer = await applier.apply([applier.named("fine"), never])
    (fault,) = problem(answer, 422, "invalid")["errors"]
    assert (fault["pointer"], fault["column"]) == ("/schedules/1/cron/1", 5)
    shape = await applier.apply([applier.named("fine"), applier.named("b", overlap="hope")])
    assert problem(shape, 422, "invalid")["errors"][0]["pointer"] == "/schedules/1/overlap"
    foreign = applier.named("c", job={"queue": "someone-elses"})
    refused = await applier.apply([applier.named("fine"), foreign])
    assert problem(refused, 403, "not-allowed")["errors"][0]["pointer"] == "/schedules/1/job/queue"
    assert await applier.listed() == []


@pytest.mark.parametrize(
    ("how", "pointer", "said"),
    [
        ({"schedules": [], "prune": True}, "/prune", "every one there is"),
        ({"schedules": ["a", "a"]}, "/schedules/1/id", "twice"),
        ({"schedules": [], "delete": True}, "/delete", "unknown field"),
    ],
)
async def test_a_set_that_makes_no_sense_is_refused(
    applier: Applier, how: Json, pointer: str, said: str
) -> None:
    how["schedules"] = [applier.named(name) for name in how["schedules"]]
    answer = await applier.http.post("/v1/schedules:apply", json=how)
    (fault,) = problem(answer, 422, "invalid")["errors"]
    assert fault["pointer"] == pointer
    assert said in fault["message"]


async def test_what_time_is_too_short_for_is_left_and_done_the_next_time(
    applier: Applier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "PATIENCE", -1.0)
    none = await applier.applied([applier.named("a"), applier.named("b")])
    assert (none["created"], none["left"]) == ([], ["a", "b"])
    monkeypatch.undo()
    assert (await applier.applied([applier.named("a"), applier.named("b")]))["created"] == ["a", "b"]


async def test_one_that_is_refused_does_not_keep_the_others(applier: Applier) -> None:
    # More entries than the server can be told: compiled only when it is put.
    crowded = applier.named("crowded", cron="* 0-59 0-6 * * *", timezone="America/New_York")
    done = await applier.applied([crowded, applier.named("fine")])
    assert done["created"] == ["fine"]
    (failed,) = done["failed"]
    assert (failed["id"], failed["problem"]["status"]) == ("crowded", 422)


async def test_the_forecast_counts_what_the_caller_may_see(applier: Applier) -> None:
    herd = [applier.named(str(number), cron="30 * * * *") for number in range(3)]
    await applier.applied(
        [*herd, applier.named("random", every="2h", jitter="2m"), applier.named("paused", paused=True)]
    )
    await applier.until_listed("0", "1", "2", "paused", "random")
    answer = await applier.http.get("/v1/schedules:forecast", params={"hours": 4})
    assert answer.status_code == 200, answer.text
    seen = answer.json()
    assert (seen["schedules"], seen["paused"], seen["unreadable"]) == (4, 1, [])
    assert seen["starts"] == pytest.approx(4 * 3 + 2, abs=1)
    peak = seen["peaks"][0]
    assert peak["at"].endswith(":30:00Z")
    assert (peak["starts"], peak["schedules"]) == (3, 3)
    assert peak["share"] > 0.7
    assert peak["of"] == [f"{applier.queue}-{number}" for number in range(3)]
    (change,) = seen["flatter"]["changes"]
    assert (change["line"], change["cron"], change["schedules"]) == ("30 * * * *", "H * * * *", 3)
    refused = await applier.http.get("/v1/schedules:forecast", params={"hours": 169})
    assert problem(refused, 422, "invalid")["errors"][0]["pointer"] == "query hours"


@pytest.mark.skipif(not MANY, reason="DUETIME_MANY_SCHEDULES=1000 runs it, for minutes")
@pytest.mark.timeout(1800)
async def test_many(applier: Applier, capsys: pytest.CaptureFixture[str]) -> None:
    many = [applier.named(f"{number:04}", cron="0 * * * *") for number in range(MANY + 5)]
    began = time.monotonic()
    calls, left = 0, [""]
    while left:
        done = await applier.applied(many)
        calls, left = calls + 1, done["left"]
        assert done["failed"] == []
    made = time.monotonic() - began

    async def are_all() -> bool:
        return (await forecast())["schedules"] == len(many)

    async def forecast() -> Json:
        answer = await applier.http.get("/v1/schedules:forecast")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    await eventually(are_all)
    began = time.monotonic()
    seen = await forecast()
    foreseen = time.monotonic() - began
    assert seen["peaks"][0]["starts"] == len(many)
    assert seen["flatter"]["share"] <= 0.04

    wanted = many[:MANY]
    for number in range(10):
        wanted[number * 7] = {**wanted[number * 7], "cron": "H * * * *"}
    began = time.monotonic()
    dry = await applier.applied(wanted, prune=True, dry_run=True)
    compared = time.monotonic() - began
    assert [one["id"] for one in dry["changed"]] == [f"{number * 7:04}" for number in range(10)]
    assert dry["pruned"] == [f"{MANY + number:04}" for number in range(5)]
    assert (dry["created"], len(dry["unchanged"])) == ([], MANY - 10)
    assert await applier.applied(wanted, prune=True) == {**dry, "dry_run": False}
    with capsys.disabled():
        print(f"\n{len(many)} made in {made:.0f} s and {calls} calls, forecast in {foreseen:.2f} s,", end=" ")
        print(f"compared in {compared:.1f} s")
