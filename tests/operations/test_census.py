"""Every open job is counted once, in the place where it is."""

import re
from datetime import timedelta
from typing import Any

from duetime.contracts.instants import parse_instant
from tests.operations.bench import Bench, let_go, until

PLACES = ("scheduled", "waiting", "overdue", "limited", "queued", "paused", "running", "retrying")


def placed(backlog: Any) -> dict[str | None, str]:
    """By group of one job: where it is."""
    found = {}
    for group in backlog["groups"]:
        places = [name for name in PLACES if group["jobs"][name]]
        assert len(places) == 1 and group["jobs"]["open"] == 1, group
        found[group["name"]] = places[0]
    return found


async def test_the_account_is_right_job_by_job(bench: Bench) -> None:
    """Each job has a fairness key of its own: the backlog by key tells each job, and is held to what was done to it."""
    account: dict[str, str] = {}

    async def submit(place: str, **fields: Any) -> str:
        key = f"{bench.queue}-{place}-{len(account)}"
        account[key] = place
        return await bench.submit(fairness_key=key, **fields)

    paused, empty = f"{bench.queue}-paused", f"{bench.queue}-empty"
    await bench.post(f"/v1/queues/{paused}:pause", {"reason": "a test"})
    held = await submit("running", kind="hold")
    await submit("queued", queue=empty, concurrency={"key": bench.queue, "limit": 1})
    await until(lambda: bench.view(empty), lambda view: view["jobs"]["queued"] == 1)
    failing = await submit("retrying", kind="fail", retry={"initial_interval": "1h", "max_interval": "1h"})
    snoozing = await submit("retrying", kind="later")
    homeless = await submit("retrying", kind="nobody", retry={"max_attempts": 1})
    async with bench.worker(concurrency=10):
        for number in range(3):
            await submit("scheduled", delay=f"{number + 1}h")
            await submit("queued", queue=empty)
            await submit("paused", queue=paused)
            await submit("waiting", after=[held])
            await submit("limited", concurrency={"key": bench.queue, "limit": 1})
        done = await bench.submit()
        stopped = await submit("queued", queue=empty)
        await bench.post(f"/v1/jobs/{stopped}:cancel")
        del account[f"{bench.queue}-queued-{len(account) - 1}"]
        await bench.in_state(done, "succeeded")
        await bench.in_state(held, "running")
        for job_id in (failing, snoozing, homeless):
            await bench.in_state(job_id, "retrying")

        async def mine() -> dict[str | None, str]:
            backlog = await bench.get("/v1/backlog?by=fairness_key")
            groups = [group for group in backlog["groups"] if str(group["name"]).startswith(bench.queue)]
            return placed({"groups": groups})

        # The job that no worker has a handler for goes back to the queue every second or so.
        await until(mine, lambda seen: seen == account)
        by_queue = await bench.get("/v1/backlog?by=queue")
        queues = {group["name"]: group["jobs"] for group in by_queue["groups"]}
        assert queues[empty]["queued"] == queues[empty]["open"] == 4
        assert queues[paused]["paused"] == queues[paused]["open"] == 3
        total, parts = by_queue["total"], list(queues.values())
        assert all(total[place] == sum(part[place] for part in parts) for place in (*PLACES, "open"))
        assert total["open"] == sum(total[place] for place in PLACES)
        assert not by_queue["approximate"]
        by_kind = {
            group["name"]: group["jobs"] for group in (await bench.get("/v1/backlog?by=kind"))["groups"]
        }
        assert by_kind["later"]["retrying"] == by_kind["fail"]["retrying"] == 1
        await bench.post(f"/v1/queues/{paused}:resume")


async def test_a_list_of_queues_and_one_queue_agree(bench: Bench) -> None:
    await bench.submit()
    await bench.submit(delay="1h")
    one = await bench.backlog(queued=1, scheduled=1)
    every = await bench.get("/v1/queues")
    (same,) = [queue for queue in every["queues"] if queue["name"] == bench.queue]
    assert same["jobs"] == one["jobs"]
    # The two were asked one after the other.
    assert re.sub(r"\d+ s", "a moment", same["verdict"]) == re.sub(r"\d+ s", "a moment", one["verdict"])
    assert every["orchestration"]["health"] == "ok"


async def test_a_job_started_without_the_api_is_counted_where_it_belongs(bench: Bench, job_id: str) -> None:
    """It is due in an hour, no workflow has run, and the index knows neither its queue nor its time."""
    bench.made.append(job_id)
    await bench.client.start_workflow(
        "Job",
        {"kind": "quick", "queue": bench.queue},
        id=job_id,
        task_queue="duetime",
        start_delay=timedelta(hours=1),
    )
    view = await until(bench.view, lambda view: view["jobs"]["open"] == 1)
    assert view["jobs"]["scheduled"] + view["jobs"]["overdue"] == 1


async def test_the_oldest_is_told_from_when_it_could_have_run(bench: Bench) -> None:
    """A job that came after another is as old as that one's end, not as its own due time."""
    held = await bench.submit(kind="hold", queue=f"{bench.queue}-first")
    after = await bench.submit(after=[held], run_at="2020-01-01T00:00:00Z")
    await bench.in_state(after, "waiting")
    assert (await bench.view())["oldest_age"] is None
    async with bench.worker(queue=f"{bench.queue}-first"):
        await bench.in_state(held, "running")
        assert (await bench.job(after))["state"] == "waiting"
        let_go(held)
        ended = await bench.in_state(held, "succeeded")
    view = await bench.backlog(queued=1)
    ready, end = parse_instant(view["oldest_ready_at"]), parse_instant(ended["finished_at"])
    assert abs(ready - end) < timedelta(seconds=5)
