"""`POST /v1/fences/{resource}:check` over real databases: newer passes, older is refused, whoever asks."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine
from temporalio.client import Client

from api.app import create_app
from api.observe.counters import REGISTRY
from duetime.effects import StaleToken, fenced
from duetime.settings import Settings
from tests.api.conftest import calling
from tests.support.postgres import PostgresServer, postgres_server

__all__ = ["postgres_server"]

HIGHEST = 2**63 - 1


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'not' / 'there' / 'yet' / 'ledger.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return f"{server.url}?options=-csearch_path%3D{server.create_schema()}"


@pytest.fixture
async def http(client: Client, ledger: str) -> AsyncIterator[httpx2.AsyncClient]:
    settings = Settings.model_construct(ledger_url=SecretStr(ledger), api_names=("api.test",))
    async with calling(create_app(settings, client)) as http:
        yield http


async def check(http: httpx2.AsyncClient, resource: str, token: object) -> httpx2.Response:
    return await http.post(f"/v1/fences/{quote(resource, safe='')}:check", json={"token": token})


async def test_the_same_and_higher_tokens_pass_and_a_lower_one_is_told_what_was_seen(
    http: httpx2.AsyncClient,
) -> None:
    for token in (5, 5, 9):
        passed = await check(http, "invoice:42", token)
        assert (passed.status_code, passed.json()) == (200, {"resource": "invoice:42", "token": token})
    refused = await check(http, "invoice:42", 8)
    assert refused.status_code == 412
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert problem["type"] == "urn:duetime:problem:stale-token"
    assert (problem["status"], problem["resource"], problem["token"], problem["seen"]) == (
        412,
        "invoice:42",
        8,
        9,
    )


async def test_it_is_the_fence_that_handlers_use(http: httpx2.AsyncClient, ledger: str) -> None:
    assert (await check(http, "r", 7)).status_code == 200
    engine = create_engine(ledger)
    try:
        with engine.begin() as connection, pytest.raises(StaleToken):
            fenced(connection, resource="r", token=6)
        with engine.begin() as connection:
            fenced(connection, resource="r", token=8)
    finally:
        engine.dispose()
    assert (await check(http, "r", 7)).json()["seen"] == 8


async def test_of_many_at_once_what_passes_only_grows(http: httpx2.AsyncClient) -> None:
    """The first of them also create the tables, all together."""
    answers = await asyncio.gather(*(check(http, "crowded", token) for token in range(1, 21)))
    assert {answer.status_code for answer in answers} <= {200, 412}
    assert answers[-1].status_code == 200, "nothing is higher than the highest"
    assert (await check(http, "crowded", 19)).json()["seen"] == 20


@pytest.mark.parametrize("resource", ["a", "a/b", "x:check", "é ü", "100%", "..", "?q=1#f", "n" * 512])
async def test_any_name_is_a_resource(http: httpx2.AsyncClient, resource: str) -> None:
    passed = await check(http, resource, HIGHEST)
    assert passed.status_code == 200
    assert passed.json()["resource"] == resource
    assert (await check(http, resource, 0)).json()["seen"] == HIGHEST


@pytest.mark.parametrize("resource", ["n" * 513, "nul\0", ""])
async def test_a_name_that_cannot_be_is_refused(http: httpx2.AsyncClient, resource: str) -> None:
    refused = await check(http, resource, 1)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "path resource"


@pytest.mark.parametrize("token", [-1, 2**63, 1.5, 1.0, "1", True, None, [1]])
async def test_a_token_is_a_whole_number_of_63_bits(http: httpx2.AsyncClient, token: object) -> None:
    refused = await check(http, "r", token)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/token"


async def test_an_unknown_field_is_refused(http: httpx2.AsyncClient) -> None:
    refused = await http.post("/v1/fences/r:check", json={"token": 1, "tokn": 2})
    assert refused.status_code == 422


async def test_without_its_database_the_answer_is_503_and_gives_nothing_away(client: Client) -> None:
    settings = Settings.model_construct(
        ledger_url=SecretStr("postgresql+psycopg://app:hush@127.0.0.1:9/none?connect_timeout=2"),
        api_names=("api.test",),
    )
    async with calling(create_app(settings, client)) as http:
        refused = await check(http, "r", 1)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"]
    assert refused.json()["reason"] == "ledger_unreachable"
    assert "hush" not in refused.text


async def test_a_held_fence_does_not_hold_the_caller(
    http: httpx2.AsyncClient, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another transaction is in the middle of something: the caller is told to come again."""
    assert (await check(http, "r", 1)).status_code == 200
    monkeypatch.setattr("api.fences.PATIENCE", 0.3)
    engine = create_engine(ledger)
    try:
        with engine.begin() as connection:
            fenced(connection, resource="r", token=2)
            refused = await check(http, "r", 3)
        assert refused.status_code == 503
    finally:
        engine.dispose()
    monkeypatch.undo()
    assert (await check(http, "r", 3)).status_code == 200


async def test_a_refusal_is_counted(http: httpx2.AsyncClient) -> None:
    def refused() -> float:
        return REGISTRY.get_sample_value("duetime_stale_tokens_refused_total") or 0.0

    before = refused()
    for token, status in ((7, 200), (6, 412), (7, 200), (5, 412)):
        assert (await check(http, "counted", token)).status_code == status
    assert refused() == before + 2
