"""Keys that are bound to queues and kinds: a pipeline is theirs when every job of it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from tests.api.caller import problem
from tests.api.conftest import calling
from tests.security.keyring import Keyring, bearer, settings
from tests.support.waiting import eventually


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "keys.json")


@pytest.fixture
async def keyed(keyring: Keyring, client: Client, orchestration: None) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(create_app(settings(api_keys_file=keyring.path), client)) as http:
        yield http


def spec(own: str, *queues: str, **more: Any) -> dict[str, Any]:
    """A job on each of the queues, due in a day."""
    jobs = {f"j{n}": {"kind": "k.one", "queue": queue, "delay": "1d"} for n, queue in enumerate(queues)}
    return {"id": own, "jobs": jobs, **more}


async def test_a_bound_key_submits_and_sees_what_is_wholly_its_own(
    keyed: httpx2.AsyncClient, keyring: Keyring, queue: str
) -> None:
    everything = bearer(keyring.add("admin"))
    bound = bearer(keyring.add("submit", "operate", queues=[f"{queue}-a"], kinds=["k.one"]))
    mine, mixed = f"{queue}-mine", f"{queue}-mixed"
    made = await keyed.post("/v1/pipelines", json=spec(mine, f"{queue}-a"), headers=bound)
    assert made.status_code == 201, made.text

    refused = problem(
        await keyed.post("/v1/pipelines", json=spec(mixed, f"{queue}-a", f"{queue}-b"), headers=bound), 403
    )
    assert [fault["pointer"] for fault in refused["errors"]] == ["/jobs/j1/queue"]
    other_kind = spec(mixed, f"{queue}-a")
    other_kind["jobs"]["j0"]["kind"] = "k.two"
    refused = problem(await keyed.post("/v1/pipelines", json=other_kind, headers=bound), 403)
    assert [fault["pointer"] for fault in refused["errors"]] == ["/jobs/j0/kind"]

    made = await keyed.post("/v1/pipelines", json=spec(mixed, f"{queue}-a", f"{queue}-b"), headers=everything)
    assert made.status_code == 201, made.text
    for path in ("", "/result", "/events", "/graph"):
        foreign = await keyed.get(f"/v1/pipelines/{mixed}{path}", headers=bound)
        nobody = await keyed.get(f"/v1/pipelines/{mixed}-not{path}", headers=bound)
        assert foreign.status_code == 404
        assert foreign.text == nobody.text.replace(f"{mixed}-not", mixed), "no telling them apart"
    for command in ("cancel", "retry"):
        assert (await keyed.post(f"/v1/pipelines/{mixed}:{command}", headers=bound)).status_code == 404
    taken = problem(await keyed.post("/v1/pipelines", json=spec(mixed, f"{queue}-a"), headers=bound), 409)
    assert "pipeline" not in taken

    async def listed(headers: dict[str, str]) -> set[str]:
        answer = await keyed.get("/v1/pipelines", params={"limit": 200}, headers=headers)
        assert answer.status_code == 200, answer.text
        return {each["id"] for each in answer.json()["pipelines"]} & {mine, mixed}

    async def indexed() -> bool:
        return await listed(everything) == {mine, mixed}

    await eventually(indexed)
    assert await listed(bound) == {mine}
    assert (await keyed.get(f"/v1/pipelines/{mine}", headers=bound)).status_code == 200
    for own in (mine, mixed):
        ended = await keyed.post(f"/v1/pipelines/{own}:cancel", json={"mode": "force"}, headers=everything)
        assert ended.status_code == 202, ended.text


async def test_what_a_key_may_do_to_the_one_in_the_way(
    keyed: httpx2.AsyncClient, keyring: Keyring, queue: str
) -> None:
    own = f"{queue}-own"
    submits = bearer(keyring.add("submit"))
    made = await keyed.post("/v1/pipelines", json=spec(own, queue), headers=submits)
    assert made.status_code == 201, made.text
    for how, scope in (("return", "read"), ("replace", "operate")):
        body = spec(own, queue, on_conflict=how)
        refused = problem(await keyed.post("/v1/pipelines", json=body, headers=submits), 403)
        assert [fault["pointer"] for fault in refused["errors"]] == ["/on_conflict"]
        assert f"`{scope}`" in refused["errors"][0]["message"]
    assert "pipeline" not in problem(
        await keyed.post("/v1/pipelines", json=spec(own, queue), headers=submits), 409
    )
    everything = bearer(keyring.add("admin"))
    await keyed.post(f"/v1/pipelines/{own}:cancel", json={"mode": "force"}, headers=everything)
