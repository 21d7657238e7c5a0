"""Filters against the real server: every value is data, and finds what has it and nothing else."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.listing.crowd import Crowd
from tests.listing.lists import eventually, get, ids, listed, refusals

NASTY = [
    "plain",
    "Plain",
    "PLAIN",
    "' OR 1=1 --",
    '" OR "1"="1',
    'x" OR "plain',
    "'plain",
    "plain'",
    "'plain'",
    "''",
    "\\",
    "\\'",
    "a\\'b",
    '"',
    "pl♡ain",
    "♡",
    "pläin",
    "plain\u0301",
    "%",
    "_",
    "pl%in",
    "%70lain",
    "^plain",
    "?",
    "$1",
    ":v1",
    "/* */",
    "plain;DROP TABLE executions_visibility",
    "plain) OR (1=1",
    "plain AND",
    "日本語",
    "😀",
    " plain",
    "plain ",
    "pl  ain",
    "NULL",
    "x" * 64,
    "é" * 64,
    "É" * 64,
]


async def test_a_tag_finds_the_jobs_that_carry_it_and_no_others(
    crowd: Crowd, http: httpx2.AsyncClient, queue: str
) -> None:
    assert len(set(NASTY)) == len(NASTY)
    of_tag = {tag: await crowd.start_one(tags=[tag]) for tag in NASTY}
    await crowd.end(of_tag.values())
    await crowd.indexed(running=0, ended=len(NASTY))
    for tag, job_id in of_tag.items():
        jobs = await listed(http, queue=queue, tag=tag)
        assert [(job["id"], job["tags"]) for job in jobs] == [(job_id, [tag])], tag
        assert (await get(http, "/v1/jobs:count", queue=queue, tag=tag))["total"] == 1, tag


async def test_a_filter_holds_all_that_it_says(crowd: Crowd, http: httpx2.AsyncClient, queue: str) -> None:
    kinds, tags = ["mail.send", "mail.Send"], ["eu", "us"]
    made = {}
    for kind, one, both in itertools.product(kinds, tags, (False, True)):
        made[kind, one, both] = await crowd.start_one(kind=kind, tags=[one, "sms"] if both else [one])
    await crowd.indexed(running=len(made))
    for (kind, one, both), job_id in made.items():
        assert set(await ids(http, queue=queue, kind=kind, tag=one)) == {
            made[kind, one, True],
            made[kind, one, False],
        }
        if both:
            assert await ids(http, queue=queue, kind=kind, tag=[one, "sms"]) == [job_id]
    assert await ids(http, queue=queue, tag=["eu", "us"]) == []
    assert await ids(http, queue=f"{queue}x", kind="mail.send") == []
    assert await ids(http, queue=queue, schedule_id="nightly") == []
    assert await ids(http, queue=queue, pipeline_id="daily") == []


async def test_times_of_creation_tile(crowd: Crowd, http: httpx2.AsyncClient, queue: str) -> None:
    """From an instant on, and before an instant: two spans that meet hold each job once."""
    started = [await crowd.start_one() for _ in range(3)]
    await crowd.end(started[:1])
    await crowd.indexed(running=2, ended=1)
    jobs = {job["id"]: job for job in await listed(http, queue=queue)}
    middle = jobs[started[1]]["created_at"]
    assert await ids(http, queue=queue, created_after=middle) == [started[2], started[1]]
    assert await ids(http, queue=queue, created_before=middle) == [started[0]]
    paris = datetime.fromisoformat(middle).astimezone().isoformat()
    assert await ids(http, queue=queue, created_after=paris) == [started[2], started[1]]
    later = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    assert await ids(http, queue=queue, created_after=later) == []


async def test_an_offset_whose_plus_was_not_escaped_is_understood(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/v1/jobs?limit=1&created_before=2001-01-01T00:00:00+01:00")
    assert (answer.status_code, answer.json()) == (200, {"jobs": [], "next_cursor": None})


@pytest.mark.parametrize(
    ("parameters", "pointer", "hint"),
    [
        ({"kind": "it's"}, "query kind", "may hold letters, digits and"),
        ({"kind": "a\nb"}, "query kind", "may hold letters, digits and"),
        ({"kind": "a\n"}, "query kind", "may hold letters, digits and"),
        ({"kind": "x" * 2048}, "query kind", "100"),
        ({"kind": ""}, "query kind", "1"),
        ({"queue": "' OR 1=1 --"}, "query queue", "may hold letters, digits and"),
        ({"queue": "duetime"}, "query queue", "reserved"),
        ({"schedule_id": 'a"b'}, "query schedule_id", "may hold letters, digits and"),
        ({"pipeline_id": "a\\b"}, "query pipeline_id", "may hold letters, digits and"),
        ({"tag": "x" * 65}, "query tag.0", "64"),
        ({"tag": "a\nb"}, "query tag.0", "control character"),
        ({"tag": [str(number) for number in range(21)]}, "query tag", "20"),
        ({"state": "done"}, "query state.0", "'succeeded'"),
        ({"state": "queued,"}, "query state.1", "'succeeded'"),
        ({"state": "Running"}, "query state.0", "'running'"),
        ({"created_after": "yesterday"}, "query created_after", "RFC 3339"),
        ({"created_after": "2027-01-15T09:00:00"}, "query created_after", "offset"),
        ({"created_before": "' OR 1=1 --"}, "query created_before", "RFC 3339"),
        ({"stat": "failed"}, "query stat", "`state`"),
        ({"where": "1=1"}, "query where", "unknown parameter"),
        ({"queue": ["a", "b"]}, "query queue", "more than once"),
    ],
)
async def test_what_no_job_can_have_is_refused_with_the_way_out(
    http: httpx2.AsyncClient, parameters: dict[str, Any], pointer: str, hint: str
) -> None:
    for path in ("/v1/jobs", "/v1/jobs:count"):
        found = await refusals(http, path, **parameters)
        assert hint in found[pointer], found


@pytest.mark.parametrize("limit", ["0", "-1", "201", "many", "1.5"])
async def test_pages_are_bounded(http: httpx2.AsyncClient, limit: str) -> None:
    assert list(await refusals(http, "/v1/jobs", limit=limit)) == ["query limit"]


async def test_only_jobs_are_listed(http: httpx2.AsyncClient, crowd: Crowd, queue: str) -> None:
    """Whatever else runs on the server."""
    from duetime import attributes
    from duetime.contracts.job import JobSpec

    spec = JobSpec(kind="crowd", queue=queue)
    handle = await crowd.client.start_workflow(
        "SomethingElse",
        id=f"other-{queue}",
        task_queue=queue,
        start_delay=timedelta(days=1),
        search_attributes=attributes.of_job(spec, datetime.now(UTC)),
    )
    job_id = await crowd.start_one()
    await crowd.indexed(running=2)
    assert await ids(http, queue=queue) == [job_id]
    assert (await get(http, "/v1/jobs:count", queue=queue))["total"] == 1
    await handle.terminate()


async def test_a_job_started_without_the_api_is_listed_like_any_other(
    http: httpx2.AsyncClient, crowd: Crowd, queue: str, job_id: str, orchestrated: None
) -> None:
    await crowd.client.start_workflow(
        "Job",
        {"kind": "by.hand", "queue": queue, "tags": ["By Hand"], "run_at": "2031-01-15T09:00:00Z"},
        id=job_id,
        task_queue="duetime",
    )
    await eventually(lambda: ids(http, queue=queue, tag="By Hand", kind="by.hand"), [job_id])
    (job,) = await listed(http, queue=queue)
    assert (job["state"], job["due_at"], job["tags"]) == ("scheduled", "2031-01-15T09:00:00Z", ["By Hand"])
    await crowd.end([job_id])
