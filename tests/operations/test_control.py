"""Pause, resume and rate: the server obeys them, and everybody can see them with who and why."""

from datetime import datetime, timedelta

import httpx2
import pytest
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import RateLimit
from temporalio.api.workflowservice.v1 import UpdateTaskQueueConfigRequest

from duetime.contracts.instants import parse_instant
from tests.operations.bench import BEGUN, Bench, until


async def test_a_paused_queue_hands_out_nothing_and_says_why(bench: Bench) -> None:
    open_queue = f"{bench.queue}-open"
    paused = await bench.post(
        f"/v1/queues/{bench.queue}:pause", {"reason": "database moves", "by": "alice@example.org"}
    )
    assert paused["health"] == "paused"
    assert paused["pause"]["reason"] == "database moves" and paused["pause"]["by"] == "alice@example.org"
    first = await bench.submit()
    await bench.backlog(paused=1)
    async with bench.worker(), bench.worker(queue=open_queue):
        # The worker polls, and jobs of another queue pass while this one stays.
        await until(bench.view, lambda view: view["workers"])
        others = [await bench.submit(queue=open_queue) for _ in range(5)]
        for job_id in others:
            await bench.in_state(job_id, "succeeded")
        assert (await bench.job(first))["state"] == "queued"
        why = await bench.blocked_by(first, "queue_paused")
        assert (
            why["blocked"][0]["said"] == "database moves" and why["blocked"][0]["by"] == "alice@example.org"
        )
        view = await bench.view()
        assert view["jobs"]["paused"] == 1 and "is paused since" in view["verdict"]
        assert "database moves" in view["verdict"] and "alice@example.org" in view["verdict"]
        resumed = await bench.post(f"/v1/queues/{bench.queue}:resume")
        assert resumed["pause"] is None
        await bench.in_state(first, "succeeded")
    assert BEGUN.index(first) > max(map(BEGUN.index, others))


async def test_pausing_twice_keeps_the_beginning_and_takes_the_new_reason(bench: Bench) -> None:
    path = f"/v1/queues/{bench.queue}"
    first = (await bench.post(f"{path}:pause", {"reason": "one"}))["pause"]
    second = (await bench.post(f"{path}:pause", {"reason": "two", "by": "bob"}))["pause"]
    assert second == {"since": first["since"], "reason": "two", "by": "bob"}
    assert (await bench.post(f"{path}:resume"))["pause"] is None
    assert (await bench.post(f"{path}:resume"))["pause"] is None


async def test_a_rate_survives_a_pause_and_can_be_taken_away(bench: Bench) -> None:
    path = f"/v1/queues/{bench.queue}"

    async def set_rate(per_second: float | None) -> httpx2.Response:
        body = {"per_second": per_second, "reason": "be gentle", "by": "carol"}
        return await bench.http.put(f"{path}/rate", json=body)

    rate = {"per_second": 4.0, "source": "api", "reason": "be gentle", "by": "carol"}
    assert (await set_rate(4.0)).json()["rate"] == rate
    paused = await bench.post(f"{path}:pause", {"reason": "deploy"})
    assert paused["health"] == "paused" and paused["rate"]["per_second"] == 4.0
    resumed = await bench.post(f"{path}:resume", {"by": "dave"})
    assert resumed["rate"] == rate and resumed["pause"] is None
    await bench.post(f"{path}:pause", {"reason": "deploy"})
    assert (await set_rate(9.0)).json()["health"] == "paused"
    assert (await bench.post(f"{path}:resume"))["rate"]["per_second"] == 9.0
    assert (await set_rate(None)).json()["rate"] is None


async def test_a_limit_set_through_temporal_is_shown_too(bench: Bench) -> None:
    service, namespace = bench.client.workflow_service, bench.client.namespace

    async def through_temporal(rate: float, reason: str) -> None:
        await service.update_task_queue_config(
            UpdateTaskQueueConfigRequest(
                namespace=namespace,
                identity="cli@laptop",
                task_queue=bench.queue,
                task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
                update_queue_rate_limit=UpdateTaskQueueConfigRequest.RateLimitUpdate(
                    rate_limit=RateLimit(requests_per_second=rate), reason=reason
                ),
            )
        )

    await through_temporal(0, "by hand")
    pause = (await bench.view())["pause"]
    assert pause["reason"] == "by hand" and pause["by"] == "cli@laptop"
    since = parse_instant(pause["since"])
    assert abs(since - datetime.now(since.tzinfo)) < timedelta(minutes=1)
    assert (await bench.post(f"/v1/queues/{bench.queue}:resume"))["health"] != "paused"


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (":pause", {}, "/reason"),
        (":pause", {"reason": " "}, "/reason"),
        (":pause", {"reason": "x" * 401}, "/reason"),
        (":pause", {"reason": "a\u0000b"}, "/reason"),
        (":pause", {"reason": "ok", "why": "?"}, "/why"),
        (":resume", {"by": ""}, "/by"),
        ("/rate", {"per_second": 0, "reason": "x"}, "/per_second"),
        ("/rate", {"per_second": -1, "reason": "x"}, "/per_second"),
        ("/rate", {"per_second": 1e9, "reason": "x"}, "/per_second"),
        ("/rate", {"per_second": "5", "reason": "x"}, "/per_second"),
        ("/rate", {"reason": "x"}, "/per_second"),
        ("/rate", {"per_second": 5}, "/reason"),
    ],
)
async def test_bad_commands_name_the_field(
    http: httpx2.AsyncClient, path: str, body: dict[str, object], pointer: str
) -> None:
    method = "PUT" if path == "/rate" else "POST"
    refused = await http.request(method, f"/v1/queues/mail{path}", json=body)
    assert refused.status_code == 422, refused.text
    assert [fault["pointer"] for fault in refused.json()["errors"]] == [pointer]


async def test_a_reserved_or_impossible_name_is_refused(http: httpx2.AsyncClient) -> None:
    for name in ("duetime", "duetime-x", "a b", "x" * 201):
        for answer in (
            await http.get(f"/v1/queues/{name}"),
            await http.post(f"/v1/queues/{name}:pause", json={"reason": "x"}),
        ):
            assert answer.status_code == 422, answer.text
            assert answer.json()["errors"][0]["pointer"] == "path name"
