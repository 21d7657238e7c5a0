"""A pipeline read, followed and drawn while it runs: states and order, exact."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from xml.etree import ElementTree

import httpx2

from tests.api.caller import Caller, problem
from tests.api.stage import Stage
from tests.pipelines_api.conftest import Pipelines, states
from tests.support.waiting import eventually


async def test_each_job_has_its_state_at_every_moment(
    pipelines: Pipelines, api: Caller, serving: Stage
) -> None:
    jobs = {
        "report": {"needs": ["load"]},
        "load": {"kind": "gate", "needs": ["extract"]},
        "alert": {"needs": ["extract", "load"], "when": "any_failed"},
        "extract": {"kind": "gate", "payload": {"day": 1}},
        "later": {"delay": "1h"},
    }
    pipeline = await pipelines.submit(jobs)
    own = pipeline["id"]
    assert list(pipeline["jobs"]) == ["extract", "load", "report", "alert", "later"]

    await serving.began(f"{own}~extract")
    now = await pipelines.until(own, lambda now: now["jobs"]["later"]["state"] == "scheduled")
    assert states(now) == {
        "extract": "running",
        "load": "waiting",
        "report": "waiting",
        "alert": "waiting",
        "later": "scheduled",
    }
    assert now["state"] == "running"
    assert now["counts"] == {"running": 1, "waiting": 3, "scheduled": 1}
    assert now["critical_path"]["final"] is False
    assert (now["jobs"]["alert"]["reason"], now["jobs"]["alert"]["waits_for"]) == (
        "needs",
        ["extract", "load"],
    )
    job = await api.get(f"{own}~extract")
    assert job["pipeline_id"] == own
    assert job["payload"] == {"day": 1}

    await serving.release(f"{own}~extract")
    await serving.began(f"{own}~load")
    now = await pipelines.get(own)
    assert states(now) | {"later": "scheduled"} == {
        "extract": "succeeded",
        "load": "running",
        "report": "waiting",
        "alert": "waiting",
        "later": "scheduled",
    }
    assert now["jobs"]["extract"]["finished_at"] is not None
    assert now["jobs"]["load"]["attempt"] == 1

    await serving.release(f"{own}~load")
    await pipelines.until(own, lambda now: now["jobs"]["report"]["state"] == "succeeded")
    assert (await api.command(f"{own}~later", "run-now")).status_code == 200
    ended = await pipelines.final(own)
    assert ended["state"] == "succeeded"
    assert states(ended) == {
        "extract": "succeeded",
        "load": "succeeded",
        "report": "succeeded",
        "alert": "skipped",
        "later": "succeeded",
    }
    assert ended["finished_at"] is not None
    assert ended["jobs"]["alert"]["reason"] == "not_needed"


async def test_what_waits_for_room_says_so(pipelines: Pipelines, serving: Stage) -> None:
    own = (await pipelines.submit({"a": "gate", "b": None}, max_parallel=1))["id"]
    await serving.began(f"{own}~a")
    now = await pipelines.get(own)
    assert (now["jobs"]["b"]["state"], now["jobs"]["b"]["reason"]) == ("waiting", "room")
    assert now["jobs"]["b"]["waits_for"] == []
    await serving.release(f"{own}~a")
    assert (await pipelines.final(own))["state"] == "succeeded"


async def test_the_critical_path_of_one_that_ran(pipelines: Pipelines, serving: Stage) -> None:
    jobs = {
        "first": {"kind": "gate"},
        "quick": {"needs": ["first"]},
        "slow": {"kind": "gate", "needs": ["first"]},
        "last": {"needs": ["quick", "slow"]},
    }
    own = (await pipelines.submit(jobs))["id"]
    await serving.release(f"{own}~first")
    await serving.began(f"{own}~slow")
    now = await pipelines.until(own, lambda now: now["jobs"]["quick"]["state"] == "succeeded")
    assert [step["name"] for step in now["critical_path"]["jobs"]] == ["first", "slow"]
    await serving.release(f"{own}~slow")
    path = (await pipelines.final(own))["critical_path"]
    assert [step["name"] for step in path["jobs"]] == ["first", "slow", "last"]
    assert path["final"] is True
    assert path["took"] != "0s"


async def test_results_travel_and_items_are_counted(
    pipelines: Pipelines, api: Caller, serving: Stage
) -> None:
    jobs = {
        "list": {"payload": {"files": ["a", "b", "c"]}},
        "each": {
            "needs": ["list"],
            "for_each": {"$result": "list.files"},
            "payload": {"file": {"$item": ""}},
        },
        "sum": {"needs": ["each"], "payload": {"all": {"$result": "each"}}},
    }
    own = (await pipelines.submit(jobs))["id"]
    ended = await pipelines.final(own)
    assert states(ended) == {"list": "succeeded", "each": "succeeded", "sum": "succeeded"}
    assert ended["jobs"]["each"]["items"] == {"total": 3, "running": 0, "done": 3, "failed": 0}
    total = await api.get(f"{own}~sum")
    assert total["result"] == {"all": [{"file": "a"}, {"file": "b"}, {"file": "c"}]}
    item = await api.get(f"{own}~each~1")
    assert (item["payload"], item["pipeline_id"]) == ({"file": "b"}, own)


async def told(response: httpx2.Response) -> AsyncIterator[tuple[str, str, dict[str, Any]]]:
    """Id, name and data of each event of a stream."""
    event: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value
        elif "data" in event:
            yield event["id"], event["event"], json.loads(event["data"])
            event = {}


async def test_it_is_followed_to_its_end(pipelines: Pipelines, serving: Stage, address: str) -> None:
    own = (await pipelines.submit({"a": {"kind": "gate"}, "b": {"needs": ["a"]}}))["id"]
    await serving.began(f"{own}~a")
    path = f"{address}/v1/pipelines/{own}/events"
    async with asyncio.timeout(60), httpx2.AsyncClient(timeout=30) as http:
        async with http.stream("GET", path) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            events = told(response)
            _, name, data = await anext(events)
            while data["jobs"]["a"] != "running":
                _, name, data = await anext(events)
            assert name == "state"
            assert data["jobs"] == {"a": "running", "b": "waiting"}
            await serving.release(f"{own}~a")
            rest = [event async for event in events]
        last, name, data = rest[-1]
        assert name == "done"
        assert states(data) == {"a": "succeeded", "b": "succeeded"}
        again = await http.get(path, headers={"Last-Event-ID": last})
        assert again.status_code == 204


async def test_it_is_drawn_as_text_and_as_a_picture(pipelines: Pipelines, serving: Stage) -> None:
    own = (await pipelines.submit({"a": None, "b": {"needs": ["a"], "when": "any_failed"}}))["id"]
    await pipelines.final(own)
    path = f"/v1/pipelines/{own}/graph"
    text = await pipelines.http.get(path)
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.headers["vary"] == "Accept"
    assert 'j0["a<br/>echo<br/>succeeded"]' in text.text
    assert "j0 -->|any_failed| j1" in text.text
    for query, accept in (({"format": "svg"}, "*/*"), ({}, "image/svg+xml")):
        picture = await pipelines.http.get(path, params=query, headers={"Accept": accept})
        assert picture.headers["content-type"] == "image/svg+xml; charset=utf-8"
        assert "default-src 'none'" in picture.headers["content-security-policy"]
        root = ElementTree.fromstring(picture.text)
        assert root.findtext("{http://www.w3.org/2000/svg}title") == f"Pipeline {own}: succeeded"
    mermaid = await pipelines.http.get(path, headers={"Accept": "application/vnd.mermaid"})
    assert mermaid.headers["content-type"].startswith("application/vnd.mermaid")
    problem(await pipelines.http.get(path, headers={"Accept": "image/png"}), 406, "not-acceptable")
    assert (await pipelines.http.get(path, params={"format": "png"})).status_code == 422


async def test_nobody_has_what_is_not_there(pipelines: Pipelines) -> None:
    for path in ("", "/result", "/events", "/graph"):
        refused = problem(await pipelines.http.get(f"/v1/pipelines/none-such{path}"), 404)
        assert refused["detail"] == "no pipeline has the id 'none-such'"
    for command in ("cancel", "retry"):
        problem(await pipelines.command("none-such", command), 404)


async def test_they_are_listed_page_by_page(pipelines: Pipelines, serving: Stage) -> None:
    before = (await pipelines.submit({"a": None}))["created_at"]
    made = [
        (await pipelines.submit({"a": {"kind": kind}}))["id"] for kind in ("echo", "gate", "reject", "echo")
    ]
    for own in (made[0], made[2], made[3]):
        await pipelines.final(own)
    await serving.began(f"{made[1]}~a")

    async def listed(**wanted: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        query: dict[str, Any] = {"created_after": before, "limit": 2, **wanted}
        while True:
            answer = await pipelines.http.get("/v1/pipelines", params=query)
            assert answer.status_code == 200, answer.text
            page = answer.json()
            assert len(page["pipelines"]) <= 2
            found |= {each["id"]: each for each in page["pipelines"]}
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]

    async def indexed() -> dict[str, Any] | None:
        found = await listed()
        told = [found.get(own, {}).get("state") for own in made]
        # The index is a moment behind: what it still takes for open is listed among that.
        is_told = told == ["succeeded", "running", "failed", "succeeded"] and next(iter(found)) == made[1]
        return found if is_told else None

    found = await eventually(indexed)
    assert found[made[2]]["counts"] == {"failed": 1}
    assert set(made) & set(await listed(state="failed")) == {made[2]}
    assert set(made) & set(await listed(state="running,queued")) == {made[1]}
    refused = await pipelines.http.get("/v1/pipelines", params={"sate": "failed"})
    assert "did you mean `state`?" in refused.text


async def test_items_of_a_long_list_are_counted_over_all_its_parts(
    pipelines: Pipelines, serving: Stage
) -> None:
    each = {"kind": "gate", "for_each": list(range(40)), "payload": {"n": {"$item": ""}}}
    own = (await pipelines.submit({"each": each}))["id"]
    await pipelines.until(own, lambda now: (now["jobs"]["each"]["items"] or {}).get("running") == 40)
    for index in range(3):
        await serving.release(f"{own}~each~{index}")
    now = await pipelines.until(own, lambda now: now["jobs"]["each"]["items"]["done"] == 3)
    assert now["jobs"]["each"]["state"] == "running"
    assert now["jobs"]["each"]["items"] == {"total": 40, "done": 3, "running": 37, "failed": 0}
    for index in range(3, 40):
        await serving.release(f"{own}~each~{index}")
    ended = await pipelines.final(own)
    assert ended["jobs"]["each"]["items"] == {"total": 40, "done": 40, "running": 0, "failed": 0}
