"""Problems: what Temporal's refusals become, faults of ours, and that every type is in the guide."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.service import RPCError, RPCStatusCode

from api.app import create_app
from api.problems import MEDIA_TYPE, from_rpc
from duetime.connection import connect
from duetime.contracts.states import ErrorType
from duetime.engine import EmbeddedEngine
from tests.api.caller import Caller, problem
from tests.api.conftest import calling, settings
from tests.support.source import tree_of

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "problems.md"


async def test_a_namespace_that_is_not_there_is_no_unknown_job(engine: EmbeddedEngine) -> None:
    client = await connect(engine.address, "nowhere")
    async with calling(create_app(settings(), client)) as http:
        answers = [
            await Caller(http).post({"kind": "echo"}),
            await http.get("/v1/jobs/x"),
            await http.post("/v1/jobs/x:cancel"),
            await http.get("/v1/kinds"),
            await http.get("/readyz"),
        ]
    for answer in answers:
        refusal = problem(answer, 503, "namespace-missing")
        assert "nowhere" in refusal["detail"] and "DUETIME_TEMPORAL_NAMESPACE" in refusal["detail"]
        assert refusal["reason"] == "namespace_missing" and int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("code", list(RPCStatusCode))
def test_every_status_of_the_server_is_a_problem(code: RPCStatusCode) -> None:
    found = from_rpc(RPCError("why", code, b""))
    expected = {RPCStatusCode.NOT_FOUND: 404, RPCStatusCode.INVALID_ARGUMENT: 422}.get(code, 503)
    assert found.status == expected
    assert ("Retry-After" in found.headers) is (expected == 503)


def test_attributes_that_are_missing_are_not_the_callers_fault() -> None:
    message = "Namespace bare has no mapping defined for search attribute DuetimeQueue"
    found = from_rpc(RPCError(message, RPCStatusCode.INVALID_ARGUMENT, b""))
    assert (found.status, found.name) == (503, "namespace-unprepared")


async def test_a_fault_of_ours_is_a_problem_that_tells_nothing_inside(
    app: FastAPI, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise LookupError("the password is hunter2")

    monkeypatch.setattr(type(app.state.jobs.reader), "job", broken)
    answer = await http.get("/v1/jobs/x")
    body = problem(answer, 500, "internal")
    assert "hunter2" not in answer.text and "LookupError" not in answer.text
    assert set(body) == {"type", "title", "status", "detail"}
    assert "hunter2" in caplog.text, "but the log has it"


async def test_a_problem_is_json_of_its_own_type(api: Caller) -> None:
    answer = await api.http.get("/v1/jobs/nobody")
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert set(answer.json()) == {"type", "title", "status", "detail"}


# --- the guide ---


def used() -> dict[str, int]:
    """Name and status of every problem that the API's code makes."""
    found: dict[str, int] = {}
    for path in sorted((ROOT / "api").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found |= _of_call(node.func.id, node)
    return found


def _of_call(function: str, node: ast.Call) -> dict[str, int]:
    texts = [_value(argument) for argument in node.args]
    keywords = {keyword.arg: _value(keyword.value) for keyword in node.keywords}
    if function == "Problem" and len(texts) > 1 and isinstance(texts[1], str):
        return {texts[1]: texts[0] if isinstance(texts[0], int) else 0}
    if function == "unavailable":
        reason = texts[1] if len(texts) > 1 else keywords.get("reason", "temporal_unreachable")
        return {str(reason).replace("_", "-"): 503}
    return {}


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def documented() -> Iterator[tuple[str, int]]:
    """Name and status of every problem in the guide: headings such as "## `invalid` (422)"."""
    for name, status in re.findall(r"^#+ `([a-z-]+)` \((\d{3})\)$", GUIDE.read_text(), re.MULTILINE):
        yield name, int(status)


def test_the_guide_has_every_problem_and_no_other() -> None:
    made = used()
    assert len(made) > 10
    written = list(documented())
    assert len(dict(written)) == len(written), "one is there twice"
    assert {name: status for name, status in made.items() if status} == {
        name: status for name, status in written if made.get(name, status)
    }
    assert set(made) == {name for name, _ in written}


def test_every_way_to_end_badly_is_in_the_guide() -> None:
    table = GUIDE.read_text().partition("\n## Why a job or a pipeline ended badly\n")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    told = {name for row in rows for name in re.findall(r"`([A-Z]\w+)`", row)}
    assert told == {kind.value for kind in ErrorType} | {"WorkflowTimeout"}
