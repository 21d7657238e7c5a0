"""The search index hangs or is away: jobs are accepted all the same, in time, and say what was not looked at."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.app import create_app
from api.kinds import dispensable, known, pollers
from duetime.contracts.kinds import KindEntry
from duetime.settings import Settings
from tests.api.caller import Caller, faults, problem
from tests.api.conftest import calling

ENTRY = KindEntry(
    kind="report",
    queue="reports",
    payload_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
    defaults={"timeout": "7m"},
)


class Index:
    """The registry as the search index gives it: it answers, hangs, or says that it is away."""

    def __init__(self) -> None:
        self.state = "answers"
        self.asked = 0

    async def read(self, _: Client) -> list[KindEntry]:
        self.asked += 1
        if self.state == "hangs":
            await asyncio.Event().wait()
        if self.state == "away":
            raise RPCError("no such store", RPCStatusCode.UNAVAILABLE, b"")
        return [ENTRY]


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    found = Index()
    monkeypatch.setattr(known, "read_kinds", found.read)
    monkeypatch.setattr(known, "FRESH", 0.0)
    return found


@pytest.fixture(params=[False, True], ids=["lenient", "strict"])
def strict(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
async def api(
    index: Index, client: Client, queue: str, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Caller]:
    monkeypatch.setattr(dispensable, "SHARE", 0.03)
    settings = Settings.model_construct(api_names=("localhost",), strict_kinds=strict)
    async with calling(create_app(settings, client)) as http:
        yield Caller(http, queue)


@pytest.mark.parametrize("state", ["hangs", "away"])
async def test_a_kind_that_nobody_can_look_up(api: Caller, index: Index, strict: bool, state: str) -> None:
    index.state = state
    body = {"kind": "report", "queue": api.queue, "delay": "1h", "payload": {"n": "five"}}
    answers = await asyncio.gather(*(api.post(body) for _ in range(20)))
    if strict:
        assert {problem(answer, 503, "kinds-unread")["reason"] for answer in answers} == {"kinds_unread"}
        return
    assert [answer.status_code for answer in answers] == [201] * 20
    for answer in answers:
        assert any("the payload was not checked" in warning for warning in answer.json()["warnings"])
    asked = index.asked
    assert (await api.post(body)).status_code == 201
    assert index.asked == asked, "for some seconds nobody waits for it again"


@pytest.mark.parametrize("state", ["hangs", "away"])
async def test_a_kind_that_was_known_before(
    api: Caller, index: Index, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its schema and its defaults go on counting."""
    monkeypatch.setattr(dispensable, "PAUSE", 0.0)
    fine = {"kind": "report", "queue": "reports", "delay": "1h", "payload": {"n": 5}}
    assert not any("registry" in warning for warning in (await api.post(fine)).json()["warnings"])
    index.state = state
    answer = await api.post(fine)
    assert answer.status_code == 201
    assert any("as it was announced some time ago" in warning for warning in answer.json()["warnings"])
    assert list(faults(await api.post({**fine, "payload": {"n": "five"}}))) == ["/payload/n"]
    index.state = "answers"
    assert not any("registry" in warning for warning in (await api.post(fine)).json()["warnings"])


@pytest.mark.parametrize("strict", [False], indirect=True)
async def test_who_polls_a_queue_may_be_unknown_too(api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any) -> bool:
        return await asyncio.Event().wait()

    monkeypatch.setattr(pollers.Pollers, "live", never)
    answer = await api.post({"kind": "report", "queue": "reports", "delay": "1h"})
    assert (answer.status_code, answer.json()["warnings"]) == (201, [])
