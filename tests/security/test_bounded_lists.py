"""Lists, counts and batches of keys that are bound, over the real server and its index."""

from typing import Any

import httpx2
import pytest

from api.jobs.index import Index
from api.security.caller import Caller
from api.security.scopes import Scope
from tests.security.keyring import Keyring, bearer
from tests.support.waiting import eventually

Headers = dict[str, str]


@pytest.fixture
async def field(http: httpx2.AsyncClient, keyring: Keyring, queue: str) -> str:
    """The queues `<field>-a` and `<field>-b` with a job of each of two kinds, one of the four cancelled; indexed."""
    everything = bearer(keyring.add("admin"))
    for name in ("a", "b"):
        for kind in ("k.one", "k.two"):
            job = {"kind": kind, "queue": f"{queue}-{name}", "id": f"{queue}-{name}-{kind}", "delay": "1d"}
            assert (await http.post("/v1/jobs", json=job, headers=everything)).status_code == 201
    cancelled = await http.post(f"/v1/jobs/{queue}-a-k.one:cancel", headers=everything)
    assert cancelled.status_code == 202

    async def indexed() -> bool:
        found = [await count(http, everything, queue=f"{queue}-{name}", by="state") for name in ("a", "b")]
        states = [counts["states"] for counts in found]
        return [(s["scheduled"], s["cancelled"]) for s in states] == [(1, 1), (2, 0)]

    await eventually(indexed)
    return queue


async def ids(http: httpx2.AsyncClient, headers: Headers, **wanted: Any) -> set[str]:
    """Every id of a list, page by page."""
    found: set[str] = set()
    cursor: dict[str, str] = {}
    while True:
        answer = await http.get("/v1/jobs", params={"limit": 2, **wanted, **cursor}, headers=headers)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found |= {job["id"] for job in page["jobs"]}
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def count(http: httpx2.AsyncClient, headers: Headers, **wanted: Any) -> dict[str, Any]:
    answer = await http.get("/v1/jobs:count", params=wanted, headers=headers)
    assert answer.status_code == 200, answer.text
    counts: dict[str, Any] = answer.json()
    return counts


BOUNDS: list[tuple[dict[str, Any], set[str]]] = [
    ({"queues": ("{}-a",)}, {"{}-a-k.one", "{}-a-k.two"}),
    ({"queues": ("{}-b",)}, {"{}-b-k.one", "{}-b-k.two"}),
    ({"queues": ("{}-a", "{}-b")}, {"{}-a-k.one", "{}-a-k.two", "{}-b-k.one", "{}-b-k.two"}),
    ({"queues": ("{}-a", "{}-b"), "kinds": ("k.two",)}, {"{}-a-k.two", "{}-b-k.two"}),
    ({"queues": ("{}-a",), "kinds": ("k.three",)}, set()),
    ({"queues": ("{}-c",)}, set()),
]


@pytest.mark.parametrize(("bounds", "seen"), BOUNDS)
async def test_a_bound_key_lists_and_counts_what_it_may_see(
    http: httpx2.AsyncClient, keyring: Keyring, field: str, bounds: dict[str, Any], seen: set[str]
) -> None:
    named = {name: tuple(one.format(field) for one in allowed) for name, allowed in bounds.items()}
    wanted = {one.format(field) for one in seen}
    headers = bearer(keyring.add("read", **named))
    assert await ids(http, headers) == wanted
    cancelled = len(wanted & {f"{field}-a-k.one"})
    assert await count(http, headers) == {"total": len(wanted), "states": None, "approximate": False}
    states = (await count(http, headers, by="state"))["states"]
    assert (states["cancelled"], states["scheduled"]) == (cancelled, len(wanted) - cancelled)
    assert sum(states.values()) == len(wanted)


async def test_asking_for_a_queue_of_others_finds_nothing(
    http: httpx2.AsyncClient, keyring: Keyring, field: str
) -> None:
    headers = bearer(keyring.add("read", queues=(f"{field}-a",)))
    for wanted in ({"queue": f"{field}-b"}, {"queue": f"{field}-b", "state": "scheduled"}):
        assert await ids(http, headers, **wanted) == set()
        assert (await count(http, headers, **wanted))["total"] == 0
    assert await ids(http, headers, state="cancelled") == {f"{field}-a-k.one"}
    assert await ids(http, headers, kind="k.two") == {f"{field}-a-k.two"}


async def test_a_cursor_of_another_caller_opens_nothing(
    http: httpx2.AsyncClient, keyring: Keyring, field: str
) -> None:
    wide = bearer(keyring.add("read", queues=(f"{field}-a", f"{field}-b")))
    page = (await http.get("/v1/jobs", params={"limit": 1}, headers=wide)).json()
    narrow = bearer(keyring.add("read", queues=(f"{field}-a",)))
    seen = await ids(http, narrow, cursor=page["next_cursor"])
    assert seen <= {f"{field}-a-k.one", f"{field}-a-k.two"}


async def test_an_index_that_is_behind_tells_nothing_of_others(
    http: httpx2.AsyncClient, keyring: Keyring, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is open is read for itself, and held against the bounds once more."""
    monkeypatch.setattr(Index, "_bounded", lambda _, query: query)
    headers = bearer(keyring.add("read", queues=(f"{field}-a",)))
    found = await ids(http, headers, state="scheduled", queue=f"{field}-b")
    assert found == set()


async def test_in_a_batch_each_job_is_held_against_the_bounds(
    http: httpx2.AsyncClient, keyring: Keyring, queue: str
) -> None:
    headers = bearer(keyring.add("submit", queues=(queue,)))
    mine = {"kind": "some", "queue": queue, "delay": "1d"}
    jobs = [mine, {**mine, "queue": "other"}, {**mine, "on_conflict": "replace"}, mine]
    answer = await http.post("/v1/jobs:batch", json={"jobs": jobs}, headers=headers)
    assert answer.status_code == 207
    items = answer.json()["jobs"]
    assert [item["status"] for item in items] == [201, 403, 403, 201]
    assert [item["problem"]["errors"][0]["pointer"] for item in items[1:3]] == [
        "/jobs/1/queue",
        "/jobs/2/on_conflict",
    ]


def test_bounds_are_in_every_question() -> None:
    caller = Caller("x", frozenset(Scope), queues=frozenset(["b", "a"]), kinds=frozenset(["k"]))
    assert Index(None)._bounded("x") == "(x)"  # type: ignore[arg-type]
    assert Index(None, caller)._bounded("x") == (  # type: ignore[arg-type]
        "(x) AND (DuetimeQueue IN ('a', 'b')) AND (DuetimeKind IN ('k'))"
    )
