"""Failed jobs by the type of their error."""

import pytest
from temporalio.client import Client

from api.jobs.errors import ErrorCounting
from api.jobs.filters import JobFilter
from api.jobs.looking import Bounds
from tests.bulk.conftest import Bulk, fail


@pytest.mark.usefixtures("worker")
async def test_they_are_counted_by_type(bulk: Bulk, client: Client) -> None:
    await fail(bulk, 3)
    (broken,) = await fail(bulk, 1, "bulk.breaks")
    answer = await bulk.http.get("/v1/jobs:count", params={"queue": bulk.queue, "by": "error"})
    counts = answer.json()
    assert (counts["total"], counts["approximate"]) == (4, False)
    assert [(group["type"], group["count"]) for group in counts["errors"]] == [
        ("Rejected", 3),
        ("ConnectionError", 1),
    ]
    assert counts["errors"][1] == {
        "type": "ConnectionError",
        "count": 1,
        "example": broken,
        "message": "hung up",
    }
    some = ErrorCounting(client, bounds=Bounds(looked_at=2))
    estimate = await some.count(JobFilter(queue=bulk.queue))
    assert estimate.approximate and estimate.total == 4
    assert sum(group.count for group in estimate.errors or []) == 4


async def test_only_failed_jobs_have_errors(bulk: Bulk) -> None:
    empty = await bulk.http.get(
        "/v1/jobs:count", params={"queue": bulk.queue, "by": "error", "state": "failed"}
    )
    assert empty.json() == {"total": 0, "states": None, "errors": [], "approximate": False}
    refused = await bulk.http.get("/v1/jobs:count", params={"by": "error", "state": "running"})
    assert refused.status_code == 422 and "in the states failed and expired" in refused.json()["detail"]
    plain = await bulk.http.get("/v1/jobs:count", params={"queue": bulk.queue})
    assert plain.json() == {"total": 0, "states": None, "approximate": False}
