"""Whose turn it is when a queue is busy, and what is said when nobody takes any: what others were bitten by."""

import asyncio

import pytest

from tests.operations.bench import BEGUN, Bench, let_go, until
from tests.operations.scraping import read

TENANTS, EACH = 20, 5


async def test_no_tenant_waits_more_than_twice_its_share(bench: Bench) -> None:
    """They come one tenant after the other, as bulk loads do; first come, first served would let the last one wait for
    all the others."""
    jobs: dict[str, list[str]] = {}
    for tenant in range(TENANTS):
        key = f"tenant-{tenant}"
        jobs[key] = await asyncio.gather(*(bench.submit(fairness_key=key) for _ in range(EACH)))
    everybody = [job_id for theirs in jobs.values() for job_id in theirs]
    await bench.backlog(queued=len(everybody))
    async with bench.worker(concurrency=1):
        await until(lambda: _begun(everybody), lambda begun: len(begun) == len(everybody))
    order = [job_id for job_id in BEGUN if job_id in set(everybody)]
    waits = {tenant: min(order.index(job_id) for job_id in theirs) for tenant, theirs in jobs.items()}
    assert {tenant: wait for tenant, wait in waits.items() if wait >= 2 * TENANTS} == {}


async def _begun(wanted: list[str]) -> set[str]:
    return set(BEGUN) & set(wanted)


async def test_a_tenant_alone_has_every_slot(bench: Bench) -> None:
    """Its share is no bound: what nobody else wants is its own."""
    made = [await bench.submit(kind="hold", fairness_key="only") for _ in range(6)]
    async with bench.worker(concurrency=5):
        await bench.backlog(running=5, queued=1)
        for job_id in made:
            let_go(job_id)
        await bench.in_state(made[-1], "succeeded")


async def test_an_urgent_job_has_the_next_free_slot(bench: Bench) -> None:
    """No worker takes jobs in advance, behind which an urgent one would have to wait."""
    low = [await bench.submit(kind="hold", priority=5) for _ in range(6)]
    async with bench.worker(concurrency=1):
        await bench.backlog(running=1, queued=5)
        urgent = await bench.submit(kind="hold", priority=1)
        await bench.backlog(running=1, queued=6)
        (first,) = [job_id for job_id in low if (await bench.job(job_id))["state"] == "running"]
        let_go(first)
        assert (await bench.in_state(urgent, "running"))["state"] == "running"
        await bench.backlog(running=1, queued=5)
        for job_id in [urgent, *low]:
            let_go(job_id)


async def test_a_less_urgent_job_waits_as_long_as_others_come_before_it(bench: Bench) -> None:
    """Strictly: the guide says so, and that a deadline or a queue of its own is the way out."""
    low = await bench.submit(priority=5)
    high = [await bench.submit(priority=1) for _ in range(8)]
    await bench.backlog(queued=9)
    async with bench.worker(concurrency=1):
        await bench.in_state(low, "succeeded")
    order = [job_id for job_id in BEGUN if job_id in {low, *high}]
    assert order[-1] == low


@pytest.mark.parametrize("priority", [0, 6, -1, 2.5, "1"])
async def test_a_priority_outside_of_the_range_is_refused(bench: Bench, priority: object) -> None:
    answer = await bench.http.post("/v1/jobs", json={"kind": "quick", "priority": priority})
    assert answer.status_code == 422
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/priority"]


async def test_a_queue_that_nobody_polls_says_so_everywhere_until_somebody_comes(bench: Bench) -> None:
    """A name with a typing error: silence would be the worst answer."""
    job = await bench.post("/v1/jobs", {"kind": "quick", "queue": bench.queue, "id": f"{bench.queue}-typo"})
    bench.made.append(job["id"])
    assert any("no_active_workers" in warning and bench.queue in warning for warning in job["warnings"])
    await bench.backlog(queued=1)
    view = await bench.view()
    assert view["health"] == "no_worker" and view["oldest_age"] is not None
    assert (await bench.why(job["id"]))["blocked"][0]["reason"] == "no_worker"
    doctor = await bench.get("/v1/doctor")
    assert any(bench.queue in finding["says"] and finding["fix"] for finding in doctor["findings"])

    async def shown() -> bool:
        metrics = read((await bench.http.get("/metrics")).text)
        waits = metrics.get(("duetime_backlog_jobs", ("queued", bench.queue)))
        age = metrics.get(("duetime_backlog_oldest_age_seconds", (bench.queue,)), 0.0)
        return waits == 1 and age > 0

    await until(shown)
    assert (await bench.job(job["id"]))["state"] == "queued"
    async with bench.worker():
        ended = await bench.in_state(job["id"], "succeeded")
    assert len(ended["attempts"]) == 1 and BEGUN.count(job["id"]) == 1


async def test_a_wait_with_an_end_ends_in_the_list_of_failed_jobs(bench: Bench) -> None:
    job_id = await bench.submit(queue_timeout="1s")
    ended = await bench.in_state(job_id, "failed")
    assert (ended["error"]["type"], ended["attempts"]) == ("QueueTimeout", [])
    assert ended["error"]["message"] == "no worker took the job within its queue_timeout"

    async def listed() -> bool:
        page = await bench.get(f"/v1/jobs?queue={bench.queue}&state=failed")
        return [job["id"] for job in page["jobs"]] == [job_id]

    await until(listed)
    counts = await bench.get(f"/v1/jobs:count?queue={bench.queue}&by=error")
    assert [(group["type"], group["example"]) for group in counts["errors"]] == [("QueueTimeout", job_id)]
