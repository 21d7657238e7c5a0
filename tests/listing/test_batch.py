"""Batches: each job for itself, in order, and safe to repeat."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from api.jobs.batch import BatchSubmitter
from api.jobs.claiming import Accepted
from api.jobs.submission import Submitter
from api.problems import Problem, unavailable
from duetime.connection import connect
from duetime.contracts import limits
from duetime.contracts.view import JobView
from duetime.engine import EmbeddedEngine, EngineConfig
from tests.listing.conftest import calling, make_app
from tests.listing.lists import eventually, get, ids

Items = list[dict[str, Any]]


async def batch(http: httpx2.AsyncClient, jobs: list[Any], **headers: str) -> Items:
    """The answers to a batch that was read."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await http.post("/v1/jobs:batch", json={"jobs": jobs}, headers=named)
    assert answer.status_code == 207, answer.text
    assert answer.headers["content-type"] == "application/json"
    items = answer.json()["jobs"]
    assert len(items) == len(jobs)
    for item in items:
        assert set(item) == {"status", "job" if item["status"] < 300 else "problem"}
        if "problem" in item:
            assert item["problem"]["status"] == item["status"]
    return cast(Items, items)


def statuses(items: Items) -> list[int]:
    return [item["status"] for item in items]


async def test_jobs_are_accepted_in_their_order(http: httpx2.AsyncClient, queue: str) -> None:
    jobs = [
        {"kind": "x", "queue": queue, "payload": {"number": number}, "delay": "1h"} for number in range(30)
    ]
    items = await batch(http, jobs)
    assert set(statuses(items)) == {201}
    assert [item["job"]["payload"]["number"] for item in items] == list(range(30))
    await eventually(lambda: _sorted(http, queue), sorted(item["job"]["id"] for item in items))
    whole = await get(http, items[7]["job"]["links"]["self"])
    assert (whole["payload"], whole["state"]) == ({"number": 7}, "scheduled")


async def _sorted(http: httpx2.AsyncClient, queue: str) -> list[str]:
    return sorted(await ids(http, queue=queue))


async def test_a_bad_job_is_refused_alone_and_its_pointers_are_into_the_batch(
    http: httpx2.AsyncClient, queue: str
) -> None:
    good = {"kind": "x", "queue": queue, "delay": "1h"}
    jobs = [
        good,
        {"queue": queue},
        {**good, "tag": "a"},
        {**good, "payload": {"deep": {"x": "y" * limits.PAYLOAD_BYTES}}},
        {**good, "run_at": "2099-01-01T00:00:00Z", "delay": None},
        {**good, "\ud800": 1},
        {**good, "tags": ["\ud800"]},
        7,
        None,
        [],
        good,
    ]
    body = json.dumps({"jobs": jobs})
    answer = await http.post("/v1/jobs:batch", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 207, answer.text
    items = answer.json()["jobs"]
    assert statuses(items) == [201, 422, 422, 413, 422, 422, 422, 422, 422, 422, 201]
    pointers = [fault["pointer"] for item in items for fault in item.get("problem", {}).get("errors", [])]
    assert pointers[:3] == ["/jobs/1/kind", "/jobs/2/tag", "/jobs/4/run_at"]
    assert pointers[4:] == ["/jobs/6/tags/0", "/jobs/7", "/jobs/8", "/jobs/9"]
    assert "did you mean `tags`?" in items[2]["problem"]["detail"]
    assert "262,144" in items[3]["problem"]["detail"]


async def test_jobs_of_one_id_conflict_as_if_they_had_come_one_by_one(
    http: httpx2.AsyncClient, queue: str, job_id: str
) -> None:
    job = {"kind": "x", "queue": queue, "id": job_id, "delay": "1h"}
    others = [{"kind": "x", "queue": queue, "delay": "1h"} for _ in range(20)]
    jobs = [
        {**job, "payload": {"n": 0}},
        *others,
        {**job, "payload": {"n": 1}},
        {**job, "payload": {"n": 2}, "on_conflict": "return"},
        {**job, "payload": {"n": 3}, "on_conflict": "replace"},
        {**job, "payload": {"n": 4}},
    ]
    items = await batch(http, jobs)
    first, *rest = items[:1] + items[21:]
    assert [first["status"], *statuses(rest)] == [201, 409, 200, 201, 409]
    assert rest[0]["problem"]["job"]["payload"] == {"n": 0}
    assert rest[1]["job"]["payload"] == {"n": 0}
    assert rest[3]["problem"]["job"]["payload"] == {"n": 3}


async def test_a_repeated_batch_starts_nothing_twice(http: httpx2.AsyncClient, queue: str) -> None:
    jobs = [{"kind": "x", "queue": queue, "payload": {"n": n % 2}, "delay": "1h"} for n in range(6)]
    key = f"batch-{queue}"
    first = await batch(http, jobs, idempotency_key=key)
    again = await batch(http, jobs, idempotency_key=key)
    assert (set(statuses(first)), set(statuses(again))) == ({201}, {200})
    run_ids = [item["job"]["run_id"] for item in first]
    assert [item["job"]["run_id"] for item in again] == run_ids
    assert len(set(run_ids)) == 6
    # The key of a job is its place: another job there is a mistake, one more at the end is new.
    moved = await batch(http, [*jobs[1:], jobs[0], jobs[0]], idempotency_key=key)
    assert statuses(moved) == [422] * 6 + [201]
    assert moved[0]["problem"]["type"] == "urn:duetime:problem:idempotency-key-reused"
    assert moved[0]["problem"]["errors"][0]["pointer"] == "header Idempotency-Key"


async def test_a_batch_repeated_by_ids_says_which_are_there(http: httpx2.AsyncClient, queue: str) -> None:
    jobs = [{"kind": "x", "queue": queue, "id": f"{queue}-{n}", "delay": "1h"} for n in range(3)]
    assert statuses(await batch(http, jobs[:2])) == [201, 201]
    assert statuses(await batch(http, jobs)) == [409, 409, 201]
    assert statuses(await batch(http, [{**job, "on_conflict": "return"} for job in jobs])) == [200, 200, 200]


async def test_an_empty_batch_is_one(http: httpx2.AsyncClient) -> None:
    assert await batch(http, []) == []


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"jobs": [{}] * 1001}, 422, "1,000"),
        ({"jobs": {}}, 422, "/jobs"),
        ({}, 422, "/jobs"),
        ([], 422, "the body"),
        ({"jobs": [], "job": {}}, 422, "did you mean `jobs`?"),
        ({"jobs": ["x" * 8_400_000]}, 413, "8,388,608"),
    ],
)
async def test_a_batch_that_is_none_is_refused_whole(
    http: httpx2.AsyncClient, body: Any, status: int, told: str
) -> None:
    answer = await http.post("/v1/jobs:batch", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert told in answer.json()["detail"]


async def test_a_batch_may_be_larger_than_a_job(http: httpx2.AsyncClient, queue: str) -> None:
    payload = {"x": "y" * 250_000}
    jobs = [{"kind": "x", "queue": queue, "delay": "1h", "payload": payload} for _ in range(8)]
    assert set(statuses(await batch(http, jobs))) == {201}
    single = await http.post("/v1/jobs", json={"kind": "x", "payload": {"x": "y" * 1_100_000}})
    assert single.status_code == 413


async def test_the_key_of_a_batch_is_checked_like_any_other(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/v1/jobs:batch", json={"jobs": []}, headers={"Idempotency-Key": "k" * 256})
    assert answer.status_code == 422
    kept = await http.post("/v1/jobs:batch", json={"jobs": []}, headers={"Idempotency-Key": "k" * 255})
    assert "retention" in kept.headers["idempotency-key-kept"]


class _Submitter:
    """Stands in for the one that starts workflows."""

    def __init__(self, fails: dict[int, Exception] | None = None) -> None:
        self.fails = fails or {}
        self.tried: list[int] = []
        self.under_way = 0
        self.most = 0

    async def submit(self, submission: Any, key: str | None, body: Any) -> Accepted[JobView]:
        number = submission.payload["n"]
        self.tried.append(number)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.under_way -= 1
        if number in self.fails:
            raise self.fails[number]
        raise Problem(409, "id-in-use", "", "")  # an answer as good as any


def _jobs(count: int) -> list[Any]:
    return [{"kind": "x", "payload": {"n": number}} for number in range(count)]


async def test_only_so_many_are_under_way_over_all_batches() -> None:
    submitter = _Submitter()
    batches = BatchSubmitter(cast(Submitter, submitter))
    await asyncio.gather(*(batches.submit(_jobs(60), None) for _ in range(3)))
    assert len(submitter.tried) == 180
    assert submitter.most == 16


async def test_a_fault_of_ours_costs_one_job() -> None:
    submitter = _Submitter({2: ZeroDivisionError()})
    answers = await BatchSubmitter(cast(Submitter, submitter)).submit(_jobs(5), None)
    assert [answer.status for answer in answers] == [409, 409, 500, 409, 409]


async def test_once_temporal_is_away_the_rest_is_not_tried() -> None:
    submitter = _Submitter({20: unavailable("away")})
    answers = await BatchSubmitter(cast(Submitter, submitter)).submit(_jobs(500), None)
    told = Counter(answer.status for answer in answers)
    assert len(submitter.tried) < 60
    assert told[503] == 500 - len(submitter.tried) + 1
    last = answers[-1].body()["problem"]
    assert last["reason"] == "temporal_unreachable" and "not tried" in last["detail"]


async def test_what_was_accepted_before_temporal_went_away_is_kept(tmp_path: Path) -> None:
    async with EmbeddedEngine(EngineConfig(data_dir=tmp_path, ui_port=None)) as engine:
        client = await connect(engine.address)
        async with calling(make_app(client)) as http:
            jobs = [{"kind": "x", "queue": "q", "delay": "1h"} for _ in range(80)]
            sent = asyncio.create_task(batch(http, jobs, idempotency_key="all"))
            async with asyncio.timeout(30):
                while (await client.count_workflows("DuetimeQueue = 'q'")).count < 5:
                    assert not sent.done()
                    await asyncio.sleep(0.02)
            await engine.kill()
            first = await sent
            assert set(statuses(first)) == {201, 503}
            await engine.start()
            again = await batch(http, jobs, idempotency_key="all")
            assert set(statuses(again)) <= {200, 201}
            for before, after in zip(first, again, strict=True):
                if before["status"] == 201:
                    assert after["status"] == 200
                    assert after["job"]["run_id"] == before["job"]["run_id"]
