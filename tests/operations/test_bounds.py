"""Keys that are bound to queues or kinds, and whose name stands beside a pause."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from tests.listing.conftest import calling
from tests.operations.bench import until
from tests.security.keyring import Keyring, bearer, settings


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "keys.json")


@pytest.fixture
async def keyed(client: Client, keyring: Keyring) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(create_app(settings(api_keys_file=keyring.path), client)) as http:
        yield http


async def test_a_key_bound_to_queues_has_its_own_alone(
    keyed: httpx2.AsyncClient, keyring: Keyring, queue: str
) -> None:
    bound = bearer(keyring.add("operate", queues=(queue,)))
    assert (await keyed.get(f"/v1/queues/{queue}", headers=bound)).status_code == 200
    pause = {"reason": "mine to pause"}
    assert (await keyed.post(f"/v1/queues/{queue}:pause", json=pause, headers=bound)).status_code == 200
    for method, path in (
        ("GET", "/v1/queues"),
        ("GET", "/v1/backlog"),
        ("GET", "/v1/doctor"),
        ("GET", "/metrics"),
        ("GET", f"/v1/queues/{queue}-other"),
        ("POST", f"/v1/queues/{queue}-other:pause"),
        ("POST", f"/v1/queues/{queue}-other:resume"),
    ):
        body = pause if path.endswith("pause") else None
        answer = await keyed.request(method, path, headers=bound, json=body)
        assert answer.status_code == 403, path
        assert answer.json()["type"] == "urn:duetime:problem:not-allowed"


async def test_a_key_bound_to_kinds_has_no_queue_whole(
    keyed: httpx2.AsyncClient, keyring: Keyring, queue: str
) -> None:
    bound = bearer(keyring.add("operate", kinds=("mail.send",)))
    assert (await keyed.get(f"/v1/queues/{queue}", headers=bound)).status_code == 403


async def test_the_name_of_the_key_stands_beside_what_its_holder_says(
    keyed: httpx2.AsyncClient, keyring: Keyring, queue: str
) -> None:
    bound = bearer(keyring.add("operate", name="deployer"))
    path = f"/v1/queues/{queue}:pause"
    paused = await keyed.post(path, json={"reason": "x", "by": "alice"}, headers=bound)
    assert paused.json()["pause"]["by"] == "alice (deployer)"
    paused = await keyed.post(path, json={"reason": "x"}, headers=bound)
    assert paused.json()["pause"]["by"] == "deployer"


async def test_reading_a_job_that_waits_for_one_out_of_bounds_tells_nothing_of_that(
    keyed: httpx2.AsyncClient, keyring: Keyring, queue: str, orchestrated: None
) -> None:
    everyone = bearer(keyring.add("submit", "operate"))
    secret = {"kind": "quick", "queue": f"{queue}-secret", "id": f"{queue}-1", "delay": "1h"}
    mine = {"kind": "quick", "queue": queue, "id": f"{queue}-2", "after": [f"{queue}-1"]}
    for body in (secret, mine):
        assert (await keyed.post("/v1/jobs", json=body, headers=everyone)).status_code == 201
    bound = bearer(keyring.add("read", queues=(queue,)))
    assert (await keyed.get(f"/v1/jobs/{queue}-1/why", headers=bound)).status_code == 404

    async def others() -> list[object]:
        why = (await keyed.get(f"/v1/jobs/{queue}-2/why", headers=bound)).json()
        return [job["state"] for one in why["blocked"] for job in one.get("jobs", [])]

    assert await until(others) == [None]
    for body in (secret, mine):
        await keyed.post(f"/v1/jobs/{body['id']}:cancel", headers=everyone)
