"""Lists and counts by state, of jobs that are really in them."""

from typing import Any

import httpx2
import pytest

from duetime.contracts.states import State
from tests.listing.handlers import BEGUN
from tests.listing.lists import eventually, get, ids, listed


@pytest.fixture
async def one_of_each(http: httpx2.AsyncClient, queue: str, worker: Any, submit: Any) -> dict[str, str]:
    """The id of a job in each state but `skipped`, which nothing makes yet."""
    ahead = await submit("echo", delay="1h")
    made = {
        "scheduled": ahead,
        "waiting": await submit("echo", after=[ahead]),
        "queued": await submit("nobody.has.this"),
        "running": await submit("hold", payload={"done": 3}),
        "retrying": await submit("fail", retry={"initial_interval": "1h", "max_interval": "1h"}),
        "succeeded": await submit("echo", payload={"x": 1}, tags=["fine"]),
        "failed": await submit("reject"),
        "cancelled": await submit("echo", delay="2h"),
        "expired": await submit("hold", deadline="1s"),
    }
    assert (await http.post(f"/v1/jobs/{made['cancelled']}:cancel")).status_code == 202
    await BEGUN[made["running"]].wait()
    for state, job_id in made.items():

        async def state_of(job_id: str = job_id) -> str:
            return str((await get(http, f"/v1/jobs/{job_id}"))["state"])

        # A job of a kind that no worker has is handed out and given back again and again.
        if state != "queued":
            await eventually(state_of, state)
    return made


async def test_every_state_is_told_filtered_and_counted(
    http: httpx2.AsyncClient, queue: str, one_of_each: dict[str, str]
) -> None:
    final = [
        job_id
        for state, job_id in one_of_each.items()
        if state in ("succeeded", "failed", "cancelled", "expired")
    ]

    async def ended() -> set[str]:
        return set(await ids(http, queue=queue, state="succeeded,failed,cancelled,expired"))

    await eventually(ended, set(final))  # the index has caught up
    told = {job["id"]: job["state"] for job in await listed(http, queue=queue)}
    given_back = one_of_each.pop("queued")
    assert told.pop(given_back) in ("queued", "retrying", "running")
    assert told == {job_id: state for state, job_id in one_of_each.items()}
    for state, job_id in one_of_each.items():
        found = await ids(http, queue=queue, state=state)
        assert [found_id for found_id in found if found_id != given_back] == [job_id], state

    counts = await get(http, "/v1/jobs:count", queue=queue, by="state")
    assert (counts["total"], counts["approximate"]) == (9, False)
    assert list(counts["states"]) == [str(state) for state in State]
    for state in one_of_each:
        assert counts["states"][state] >= 1
    assert sum(counts["states"].values()) == 9
    some = await get(http, "/v1/jobs:count", queue=queue, state="failed,expired", by="state")
    assert some == {"total": 2, "states": {"failed": 1, "expired": 1}, "approximate": False}
    assert (await get(http, "/v1/jobs:count", queue=queue, state="scheduled"))["total"] == 1
    assert (await get(http, "/v1/jobs:count", queue=queue, state="waiting"))["total"] == 1
    assert await get(http, "/v1/jobs:count", queue=queue) == {
        "total": 9,
        "states": None,
        "approximate": False,
    }


async def test_an_open_job_is_told_as_it_is(
    http: httpx2.AsyncClient, queue: str, worker: Any, submit: Any
) -> None:
    job_id = await submit("hold", payload={"done": 3}, tags=["Long One"], priority=2, timeout="5m")

    async def progress() -> Any:
        return [(job["progress"] or {}).get("done") for job in await listed(http, queue=queue)] == [3]

    await eventually(progress, True)
    (job,) = await listed(http, queue=queue)
    whole = await get(http, f"/v1/jobs/{job_id}")
    assert job["state"] == "running"
    assert job["lease"]["fencing_token"] == whole["lease"]["fencing_token"]
    same = (
        "run_id",
        "kind",
        "queue",
        "tags",
        "priority",
        "created_at",
        "due_at",
        "started_at",
        "attempt",
        "links",
    )
    assert {name: job[name] for name in same} == {name: whole[name] for name in same}
    assert {"payload", "result", "attempts", "checkpoint"} & set(job) == set()


async def test_a_finished_job_is_told_by_the_index(
    http: httpx2.AsyncClient, queue: str, worker: Any, submit: Any
) -> None:
    job_id = await submit("echo", payload={"secret": 1}, tags=["One", "two"])
    await eventually(lambda: ids(http, queue=queue, state="succeeded"), [job_id])
    (job,) = await listed(http, queue=queue)
    whole = await get(http, f"/v1/jobs/{job_id}")
    same = ("id", "run_id", "kind", "queue", "state", "tags", "created_at", "finished_at", "links")
    assert {name: job[name] for name in same} == {name: whole[name] for name in same}
    assert job["attempt"] is job["priority"] is job["max_attempts"] is None


async def test_what_the_index_does_not_tell_is_read(
    http: httpx2.AsyncClient, queue: str, worker: Any, submit: Any
) -> None:
    """A tag too long for its spelling."""
    job_id = await submit("echo", tags=["É" * 64])
    await eventually(lambda: ids(http, queue=queue, state="succeeded", tag="É" * 64), [job_id])
    (job,) = await listed(http, queue=queue)
    assert (job["tags"], job["attempt"]) == (["É" * 64], 1)
