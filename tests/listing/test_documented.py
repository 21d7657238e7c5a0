"""The OpenAPI document has these routes, with examples that are what they say."""

from typing import Any

import httpx2
import pytest

from api.jobs.batch import read_item
from api.problems import Problem
from api.routes.batch import BatchAnswer
from api.routes.list_examples import BATCH_ANSWER_EXAMPLE, BATCH_EXAMPLES, COUNTS_EXAMPLE, PAGE_EXAMPLE
from duetime.contracts.requests import Submission
from duetime.contracts.states import State
from duetime.contracts.view import JobCounts, JobPage, JobSummary, JobView

ROUTES = [
    ("/v1/jobs", "get"),
    ("/v1/jobs:count", "get"),
    ("/v1/jobs:batch", "post"),
    ("/v1/jobs/{job_id}/events", "get"),
]


@pytest.fixture
async def document(http: httpx2.AsyncClient) -> dict[str, Any]:
    return dict((await http.get("/openapi.json")).json())


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_every_route_is_documented(document: dict[str, Any], path: str, method: str) -> None:
    route = document["paths"][path][method]
    assert route["summary"]
    for status, response in route["responses"].items():
        if status != "204":
            assert response["content"], (path, status)
    assert "application/problem+json" in route["responses"]["422"]["content"] or path.endswith("events")


def test_filters_are_documented_as_what_they_are(document: dict[str, Any]) -> None:
    parameters = {p["name"]: p for p in document["paths"]["/v1/jobs"]["get"]["parameters"]}
    assert set(parameters) == {
        *("state", "kind", "queue", "tag", "schedule_id", "pipeline_id"),
        *("created_after", "created_before", "limit", "cursor"),
    }
    assert parameters["state"]["schema"]["type"] == "array"
    assert parameters["limit"]["schema"].items() >= {"minimum": 1, "maximum": 200, "default": 50}.items()
    counted = {p["name"] for p in document["paths"]["/v1/jobs:count"]["get"]["parameters"]}
    assert counted == set(parameters) - {"limit", "cursor"} | {"by"}


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Batch"]["properties"]["jobs"]["items"]["$ref"].rpartition("/")[2] in schemas


def test_the_examples_are_valid() -> None:
    assert set(PAGE_EXAMPLE["jobs"][0]) == set(JobSummary.model_fields)
    JobPage.model_validate(PAGE_EXAMPLE)
    counts = JobCounts.model_validate(COUNTS_EXAMPLE)
    assert counts.states is not None
    assert set(counts.states) == set(State)
    assert sum(counts.states.values()) == counts.total
    answer = BatchAnswer.model_validate(BATCH_ANSWER_EXAMPLE)
    jobs = BATCH_EXAMPLES["batch"]["value"]["jobs"]
    assert isinstance(read_item(0, jobs[0]), Submission)
    refused = read_item(1, jobs[1])
    assert isinstance(refused, Problem)
    assert refused.body() == BATCH_ANSWER_EXAMPLE["jobs"][1]["problem"]
    assert len(answer.jobs) == len(jobs)


def test_a_summary_is_a_part_of_a_job() -> None:
    assert set(JobSummary.model_fields) < set(JobView.model_fields)
    assert set(JobView.model_fields) - set(JobSummary.model_fields) == {
        *("payload", "result", "attempts", "checkpoint", "warnings"),
    }
