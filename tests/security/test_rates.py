"""How often, and how many at once."""

import asyncio
import dataclasses
from collections.abc import Callable

import pytest
from fastapi import FastAPI

from api.problems import Problem
from api.security.caller import ANYBODY, Caller
from api.security.gate import Gate
from api.security.rates import WINDOW, Rates, Waits
from api.security.scopes import Demand, Scope
from tests.security.conftest import calling
from tests.security.keyring import Clock, Keyring, bearer


def caller(key_id: str = "aaaaaaaa", rate: int | None = None) -> Caller:
    return Caller("x", frozenset(Scope), key_id=key_id, rate=rate)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def let_through(rates: Rates, who: Caller, at_most: int = 10_000) -> int:
    """How many calls pass now, one after the other."""
    for count in range(at_most):
        try:
            rates.take(who)
        except Problem:
            return count
    return at_most


def test_a_burst_passes_and_then_the_rate(clock: Clock) -> None:
    rates = Rates(5, clock)
    assert let_through(rates, caller()) == 5 * WINDOW
    for clock.now, passed in ((0.1, 0), (0.2, 1), (1.2, 5), (1000.0, 5 * WINDOW)):
        assert let_through(rates, caller()) == passed


def test_each_key_has_its_own(clock: Clock) -> None:
    rates = Rates(5, clock)
    let_through(rates, caller("aaaaaaaa"))
    assert let_through(rates, caller("bbbbbbbb")) == 5 * WINDOW
    assert let_through(rates, caller("cccccccc", rate=2)) == 2 * WINDOW


def test_without_a_rate_everything_passes(clock: Clock) -> None:
    assert let_through(Rates(0, clock), caller()) == 10_000
    assert let_through(Rates(1, clock), ANYBODY) == 10_000
    assert let_through(Rates(0, clock), caller(rate=1)) == WINDOW, "a key's own rate holds all the same"


def test_what_is_left_is_told(clock: Clock) -> None:
    rates = Rates(2, clock)
    first = rates.take(caller())
    assert first is not None
    assert first.headers == {"RateLimit-Policy": '"key";q=20;w=10', "RateLimit": '"key";r=19;t=1'}
    let_through(rates, caller())
    with pytest.raises(Problem) as refused:
        rates.take(caller())
    assert refused.value.status == 429
    assert refused.value.headers["Retry-After"] == "1"
    assert refused.value.headers["RateLimit"] == '"key";r=0;t=10'


def test_who_waits_as_told_gets_through(clock: Clock) -> None:
    rates = Rates(1, clock)
    let_through(rates, caller())
    rates.charge(caller(), 30)
    with pytest.raises(Problem) as refused:
        rates.take(caller())
    wait = int(refused.value.headers["Retry-After"])
    assert wait == 31
    clock.now = wait - 0.01
    assert let_through(rates, caller()) == 0
    clock.now = wait
    assert let_through(rates, caller()) == 1


def test_a_big_call_passes_and_is_missing_to_the_next(clock: Clock) -> None:
    rates = Rates(1, clock)
    rates.take(caller())
    rates.charge(caller(), 99)
    rates.charge(ANYBODY, 99)
    assert let_through(rates, caller()) == 0
    clock.now = 91.0
    assert let_through(rates, caller()) == 1


def test_so_many_waits_and_no_more() -> None:
    waits = Waits(2)
    with waits.hold(caller()), waits.hold(caller()):
        with (
            pytest.raises(Problem, match="this key waits in 2 calls already") as refused,
            waits.hold(caller()),
        ):
            pass
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "5")
        with waits.hold(caller("bbbbbbbb")), waits.hold(ANYBODY), waits.hold(ANYBODY), waits.hold(ANYBODY):
            pass
    with pytest.raises(ZeroDivisionError), waits.hold(caller()):
        _ = 1 / 0
    with waits.hold(caller()), waits.hold(caller()):
        pass


# --- in the app ---

AppWith = Callable[..., tuple[FastAPI, Keyring]]


def stop_the_clock(app: FastAPI, clock: Clock) -> None:
    """The app's rates by `clock`: how fast this machine is must not decide."""
    rates = Rates(100, clock)
    app.state.gate = dataclasses.replace(app.state.gate, rates=rates)


async def test_too_many_calls_are_told_to_wait(app_with: AppWith, clock: Clock) -> None:
    app, keyring = app_with()
    stop_the_clock(app, clock)
    async with calling(app) as http:
        headers = bearer(keyring.add("read", rate=1))
        answers = [await http.get("/v1/kinds", headers=headers) for _ in range(WINDOW + 1)]
        assert [answer.status_code for answer in answers] == [*[200] * WINDOW, 429]
        refused = answers[-1]
        assert refused.json()["type"] == "urn:duetime:problem:too-many-requests"
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["ratelimit-policy"] == '"key";q=10;w=10'
        assert (await http.get("/v1/kinds", headers=bearer(keyring.add("read")))).status_code == 200
        assert (await http.get("/healthz")).status_code == 200


async def test_the_wrong_scope_counts_too(app_with: AppWith, clock: Clock) -> None:
    app, keyring = app_with()
    stop_the_clock(app, clock)
    async with calling(app) as http:
        headers = bearer(keyring.add("submit", rate=1))
        statuses = [(await http.get("/v1/kinds", headers=headers)).status_code for _ in range(WINDOW + 1)]
        assert statuses == [*[403] * WINDOW, 429]


async def test_a_batch_counts_as_the_calls_it_stands_for(app_with: AppWith, clock: Clock, queue: str) -> None:
    app, keyring = app_with()
    stop_the_clock(app, clock)
    async with calling(app) as http:
        headers = bearer(keyring.add("submit", rate=1))
        jobs = [{"kind": "some", "queue": queue, "delay": "1d"} for _ in range(WINDOW + 5)]
        answer = await http.post("/v1/jobs:batch", json={"jobs": jobs}, headers=headers)
        assert [item["status"] for item in answer.json()["jobs"]] == [201] * len(jobs)
        refused = await http.post("/v1/jobs", json=jobs[0], headers=headers)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "6")


async def test_the_bound_on_waits_holds_for_long_polls(app_with: AppWith, queue: str, job_id: str) -> None:
    app, keyring = app_with(api_waits=2)
    async with calling(app) as http:
        headers = bearer(keyring.add("admin"))
        job = {"kind": "some", "queue": queue, "id": job_id, "delay": "1d"}
        assert (await http.post("/v1/jobs", json=job, headers=headers)).status_code == 201
        path = f"/v1/jobs/{job_id}/result?wait=60s"
        waiting = [asyncio.create_task(http.get(path, headers=headers)) for _ in range(2)]
        gate: Gate = app.state.gate
        while gate.waits.count(key_of(headers)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        refused = await http.get(path, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:duetime:problem:too-many-waits")
        assert (await http.get(f"/v1/jobs/{job_id}", headers=headers)).status_code == 200
        assert (await http.post(f"/v1/jobs/{job_id}:cancel", headers=headers)).status_code == 202
        assert {(await answer).status_code for answer in waiting} == {200}
        assert (await http.get(path, headers=headers)).status_code == 200


def key_of(headers: dict[str, str]) -> str:
    return headers["Authorization"].split("_")[1]


async def test_a_wait_lasts_until_the_answer_is_sent(app_with: AppWith) -> None:
    """A stream counts while it streams, not while its handler returns."""
    app, keyring = app_with(api_waits=1)
    gate: Gate = app.state.gate
    secret = keyring.add("read")
    key_id = secret.split("_")[1]
    seen: list[int] = []

    async def stream(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        seen.append(gate.waits.count(key_id))
        await send({"type": "http.response.body", "body": b""})

    async def send(message: object) -> None:
        seen.append(gate.waits.count(key_id))

    connection = {
        "method": "GET",
        "raw_path": b"/",
        "headers": [(b"authorization", f"Bearer {secret}".encode())],
    }
    await gate.enter(Demand(Scope.READ, holds=True), stream, connection, None, send)  # type: ignore[arg-type]
    assert seen == [1, 1, 1]
    assert gate.waits.count(key_id) == 0


async def test_what_covers_all_is_not_for_a_bound_key(app_with: AppWith) -> None:
    app, keyring = app_with()
    gate: Gate = app.state.gate

    async def fine(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        pass

    async def enter(secret: str) -> None:
        headers = [(b"authorization", f"Bearer {secret}".encode())]
        demand = Demand(Scope.READ, covers_all=True)
        await gate.enter(demand, fine, {"method": "GET", "headers": headers}, None, None)  # type: ignore[arg-type]

    await enter(keyring.add("read"))
    with pytest.raises(Problem, match="covers all queues and kinds, and your key is bound") as refused:
        await enter(keyring.add("read", queues=("mail",)))
    assert refused.value.status == 403
