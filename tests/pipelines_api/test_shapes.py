"""Shapes of graphs, and ends of parents, that schedulers have got wrong: over HTTP, and replayed afterwards."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from duetime.contracts import limits
from tests.api.caller import Caller, problem
from tests.api.stage import Stage
from tests.pipelines_api.conftest import Json, Pipelines, states
from tests.replay.replaying import replay_text
from tests.support.waiting import eventually


def needs(*names: str, **fields: Any) -> Json:
    return {"needs": list(names), **fields}


@pytest.mark.parametrize(
    ("jobs", "pointer", "said"),
    [
        ({"a": needs("b"), "b": needs("a")}, "/jobs/a/needs", "a needs b needs a"),
        ({"a": needs("a")}, "/jobs/a/needs/0", "cannot need itself"),
        ({"a": None, "d": needs("x")}, "/jobs/d/needs/0", "no job 'x'"),
        ({"a": None, "f": needs("a", "a")}, "/jobs/f/needs/1", "twice"),
        ({}, "/jobs", "one job at least"),
        # Far from the roots.
        (
            {"a": None, "b": needs("a", "d"), "c": needs("b"), "d": needs("c")},
            "/jobs/b/needs",
            "b needs d needs c needs b",
        ),
        ({f"n{i}": needs(*([f"n{i - 1}"] if i else [])) for i in range(5000)}, "/jobs", "2,000 items"),
    ],
)
async def test_what_would_wait_for_ever_is_refused(
    pipelines: Pipelines, jobs: Json, pointer: str, said: str
) -> None:
    told = problem(await pipelines.post(jobs), 422, "invalid")["errors"]
    assert any(fault["pointer"] == pointer and said in fault["message"] for fault in told), told


async def test_two_jobs_of_one_name_are_refused(http: httpx2.AsyncClient) -> None:
    body = '{"jobs": {"a": {"kind": "echo"}, "a": {"kind": "gate"}}}'
    answer = await http.post("/v1/pipelines", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422) and "'a'" in answer.text, answer.text


async def test_a_chain_of_all_jobs_there_may_be_is_accepted(pipelines: Pipelines) -> None:
    """No recursion; nobody serves it, and it is ended by force."""
    chain = {f"n{i}": needs(*([f"n{i - 1}"] if i else [])) for i in range(limits.PIPELINE_JOBS)}
    own = (await pipelines.submit(chain))["id"]
    await pipelines.until(own, lambda now: now["jobs"]["n0"]["state"] == "queued")
    assert (await pipelines.command(own, "cancel", mode="force")).status_code == 202
    assert (await pipelines.final(own))["counts"] == {"cancelled": 1, "skipped": limits.PIPELINE_JOBS - 1}


def diamond(b: Json | None = None) -> Json:
    return {"a": None, "b": needs("a", **(b or {})), "c": needs("a"), "d": needs("b", "c")}


async def test_a_diamond_is_no_cycle(pipelines: Pipelines, serving: Stage, client: Client) -> None:
    own = (await pipelines.submit(diamond()))["id"]
    assert (await pipelines.final(own))["counts"] == {"succeeded": 4}
    assert len(serving.attempts(f"{own}~d")) == 1
    await replays(client, own, "a", "b", "c", "d")


async def test_a_parent_that_fails_for_good(pipelines: Pipelines, serving: Stage, client: Client) -> None:
    own = (await pipelines.submit(diamond({"kind": "reject"})))["id"]
    ended = await pipelines.final(own)
    assert (ended["state"], ended["jobs"]["d"]["reason"]) == ("failed", "upstream_failed")
    assert states(ended) == {"a": "succeeded", "b": "failed", "c": "succeeded", "d": "skipped"}
    await replays(client, own, "b", "c")


async def test_a_parent_cancelled_while_it_is_queued(
    pipelines: Pipelines, serving: Stage, api: Caller, client: Client
) -> None:
    own = (await pipelines.submit(diamond({"queue": f"{pipelines.queue}-nobody"})))["id"]

    async def is_there() -> bool:
        """A job of a pipeline is told as queued from when the pipeline starts it, some milliseconds before."""
        return (await api.http.get(f"/v1/jobs/{own}~b")).status_code == 200

    await pipelines.until(own, lambda now: now["jobs"]["b"]["state"] == "queued")
    await eventually(is_there)
    answer = await api.command(f"{own}~b", "cancel")
    assert answer.status_code in (200, 202), answer.text
    ended = await pipelines.final(own)
    assert (ended["state"], ended["jobs"]["d"]["reason"]) == ("failed", "upstream_failed")
    assert states(ended) == {"a": "succeeded", "b": "cancelled", "c": "succeeded", "d": "skipped"}
    await replays(client, own, "b")


@pytest.mark.parametrize(("when", "d"), [("all_succeeded", "skipped"), ("all_finished", "succeeded")])
async def test_a_parent_skipped_by_its_own_condition(
    pipelines: Pipelines, serving: Stage, client: Client, when: str, d: str
) -> None:
    jobs = diamond({"when": "any_failed"})
    jobs["d"]["when"] = when
    own = (await pipelines.submit(jobs))["id"]
    ended = await pipelines.final(own)
    assert (ended["state"], ended["jobs"]["b"]["reason"]) == ("succeeded", "not_needed")
    assert states(ended) == {"a": "succeeded", "b": "skipped", "c": "succeeded", "d": d}
    await replays(client, own)


async def test_a_pipeline_cancelled_while_a_parent_runs(
    pipelines: Pipelines, serving: Stage, client: Client
) -> None:
    own = (await pipelines.submit(diamond({"kind": "gate"})))["id"]
    seen = await serving.began(f"{own}~b")
    assert (await pipelines.command(own, "cancel", grace="5s")).status_code == 202
    ended = await pipelines.final(own)
    assert seen.stopped.is_set()
    assert ended["state"] == "cancelled"
    assert states(ended) | {"c": ""} == {"a": "succeeded", "b": "cancelled", "c": "", "d": "skipped"}
    assert serving.attempts(f"{own}~d") == []
    await replays(client, own, "b")


async def replays(client: Client, pipeline_id: str, *jobs: str) -> None:
    """The histories fit the workflows as they are."""
    ids = [pipeline_id, *(f"{pipeline_id}~{name}" for name in jobs)]
    found = await asyncio.gather(*(client.get_workflow_handle(each).fetch_history() for each in ids))
    for history in found:
        assert await replay_text(json.dumps(history.to_json_dict())) is None
